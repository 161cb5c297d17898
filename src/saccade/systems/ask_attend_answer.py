"""Ask, attend and answer: question-guided spatial attention for visual question answering (Xu and Saenko 2016).

Reads: a picture, by a small residual network, as a grid of feature vectors; the words of a question, in no order.
Attends: each word to every cell of the grid, where the word that fits best decides; then what was found, once more.
Writes: an answer, from the question and the evidence of each hop.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import attend, lengths, make_normalizer
from saccade.attention.live import live
from saccade.config import Positive
from saccade.data.tensors import PictureQuestionInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.backbones import Backbone
from saccade.layers.picture_and_question import PictureAndQuestion, fused
from saccade.layers.pooling import mean
from saccade.systems.system import QUESTIONS, BatchLook, Labeler, QuestionConfig, Recorded, hops_look

READS, WRITES = "picture_question", "answer"
DEFAULTS = QUESTIONS


@dataclass(frozen=True, kw_only=True)
class Config(QuestionConfig):
    """Sizes; word vectors have the hidden size."""

    num_hops: Positive = 2
    "Times that the picture is looked at: at first guided by words, then by what was found."


class WordHop(nn.Module):
    """S = Σ pᵢ eᵢ with p the normalized maxₜ wₜ·kᵢ over the words (section 3.2, equations 2 to 4).

    Shapes: fits (B, T, K), the product of each word with each cell, evidence (B, K, D) -> (B, D)
    """

    def __init__(self, normalize: str) -> None:
        super().__init__()
        self.normalize = make_normalizer(normalize)

    def forward(self, fits: Float[Tensor, "B T K"], evidence: Float[Tensor, "B K D"]) -> Float[Tensor, "B D"]:
        best = fits.amax(1)[..., None]  # a score that is known: the product with 1
        return attend(torch.ones_like(best[:, :1]), best, evidence, score="dot", normalize=self.normalize).context[:, 0]


class EvidenceHop(nn.Module):
    """S = Σ pᵢ eᵢ with p the normalized o·kᵢ, where k is the evidence of the hop before (equations 7 and 8).

    Shapes: found (B, D), keys (B, K, D), evidence (B, K, D) -> (B, D)
    """

    def __init__(self, normalize: str) -> None:
        super().__init__()
        self.normalize = make_normalizer(normalize)

    def forward(self, found: Tensor, keys: Float[Tensor, "B K D"], evidence: Float[Tensor, "B K D"]) -> Float[Tensor, "B D"]:
        return attend(found[:, None], keys, evidence, score="dot", normalize=self.normalize).context[:, 0]


class Model(Labeler):
    """Words and cells in one space, evidence for each hop in spaces of its own."""

    def __init__(
        self,
        config: Config,
        channels: int,
        height: int,
        width: int,
        source: Vocabulary,
        labels: int,
        ngrams: int = 0,
        backbone: Backbone | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden_size
        self.encoder = PictureAndQuestion(config, channels, height, width, source, hidden, ngrams, backbone)
        self.grid, features = self.encoder.grid, self.encoder.features
        self.question_map = nn.Linear(hidden, hidden)
        self.key_map = nn.Linear(features, hidden)
        self.evidence_maps = nn.ModuleList(nn.Linear(features, hidden) for _ in range(config.num_hops))
        self.word_hop = WordHop(config.normalize)
        self.hops = nn.ModuleList(EvidenceHop(config.normalize) for _ in range(config.num_hops - 1))
        self.output = nn.Linear(hidden, labels)
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, input: PictureQuestionInput) -> Float[Tensor, "B labels"]:
        words, fits, cells = self.compared(input)
        evidence = [evidence_map(cells) for evidence_map in self.evidence_maps]
        question = self.question_map(mean(words, lengths(input.question.lengths)))
        found = fused(question, self.word_hop(fits, evidence[0]), self.config.fusion)
        for hop, before, own in zip(self.hops, evidence, evidence[1:], strict=False):
            found = fused(found, hop(found, before, own), self.config.fusion)
        logits: Tensor = self.output(self.dropout(F.relu(found)))
        return logits

    def compared(self, input: PictureQuestionInput) -> tuple[Tensor, Float[Tensor, "B T K"], Tensor]:
        """The words, the product of each with each cell, and the cells; padding fits nowhere."""
        question = input.question
        cells, words = self.encoder(input)
        fits = words @ self.key_map(cells).transpose(1, 2)
        there = live(question.lengths, words.shape[1])[..., None]
        return words, fits.masked_fill(~there, torch.finfo(fits.dtype).min), cells

    def looks(self, input: PictureQuestionInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """The hops; and the weights of the first, shared out among the words: each cell is that of the word it fits best."""
        names = ["word_hop", *(f"hops.{number}" for number in range(len(self.hops)))]
        weights = recorded["word_hop"][-1].weights()
        _, fits, _ = self.compared(input)
        shared = F.one_hot(fits.argmax(1), fits.shape[1]).transpose(1, 2) * weights
        return [
            hops_look(names, recorded),
            BatchLook("words", "output", "question", shared.sum(-1)[:, None, None]),
            BatchLook("hop 1, word by word", "question", "input", shared[:, None]),
        ]
