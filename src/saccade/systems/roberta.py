"""RoBERTa: a robustly optimized BERT pretraining approach (Liu et al. 2019).

Reads: a text, or a pair of texts, as tokens with learned positions, which count from behind the padding token's id.
Attends: in each layer and head, every token to every other.
Writes: hidden tokens, others in each epoch; or a label, a label for each word, an answer's place.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.config import Rate, merged
from saccade.data.tensors import PiecesInput
from saccade.data.tokenizers import Vocabulary
from saccade.systems import bert
from saccade.systems.bert import published

READS, WRITES = "pieces", "masked"
TASKS = bert.TASKS
PAIRED = {"reader": {"double_separator": True}}
DEFAULTS = merged(bert.DEFAULTS, PAIRED | {"writer": {"next_sentence": False}, "train": {"beta2": 0.98}})
TASK_DEFAULTS = {task: merged(table, PAIRED) for task, table in bert.TASK_DEFAULTS.items()}
PRESETS = {"base": published(768, 12, 12, 50_265), "large": published(1024, 24, 16, 50_265)}


@dataclass(frozen=True, kw_only=True)
class Config(bert.Config):
    """Sizes of the model; the defaults are for some megabytes of text, the published ones are presets."""

    layer_norm_eps: Rate = 1e-5
    "What layer norms add to the variance."


class Model(bert.Model):
    """BERT with one segment, positions that begin behind the padding's, and dropout on both sides of the pooler."""

    SEGMENTS = 1

    @classmethod
    def first_position(cls, source: Vocabulary) -> int:
        return source.pad + 1

    def pooled(self, states: Float[Tensor, "B K D"], input: PiecesInput) -> Float[Tensor, "B D"]:
        assert self.pooler is not None
        return torch.tanh(self.pooler(self.dropout(self.class_states(states, input))))
