"""RoBERTa: the sizes of the paper, positions behind the padding's, one segment, and no next sentences."""

import pytest
import torch

from saccade.data.tokenizers import Vocabulary
from saccade.systems.roberta import PRESETS, Config, Model
from saccade.training.settings import resolve

from .test_bert import count
from .tiny import tiny

PUBLISHED = Vocabulary(size=50_265, pad=1, start=0, end=2, unknown=3, mask=50_264)


@pytest.mark.parametrize(
    ("preset", "pooled", "masked"), [("base", 124_645_632, 124_697_433), ("large", 355_359_744, 355_412_057)]
)
def test_the_presets_are_the_published_models(preset: str, pooled: int, masked: int) -> None:
    with torch.device("meta"):
        config = Config(**PRESETS[preset]["model"])
        assert count(Model(config, PUBLISHED, 512, pooler=True)) == pooled
        model = Model(config, PUBLISHED, 512)
    assert count(model) == masked
    assert model.encoder.positions.table.shape[0] == 514


def test_positions_begin_behind_the_paddings_and_segments_are_one() -> None:
    one = tiny("roberta", "label")
    batch = one.batch().input
    first = one.task.reader.vocabulary.pad + 1
    assert one.model.encoder.first == first
    before = one.model.logits(batch)
    with torch.no_grad():
        one.model.encoder.positions.table[:first] += 7
    assert torch.equal(one.model.logits(batch), before)
    swapped = type(batch)(**{**vars(batch), "segments": 1 - batch.segments})
    assert torch.equal(one.model.logits(swapped), before)


def test_by_default_it_reads_full_sentences_and_two_separators() -> None:
    settings = resolve({"system": "roberta"}, ["data.train=my.txt"])
    assert not settings.writer.next_sentence
    assert settings.reader.double_separator
    assert resolve({"system": "roberta"}, ["task=label", "data.train=my.tsv"]).reader.double_separator
    assert resolve({"system": "bert"}, ["data.train=my.txt"]).writer.next_sentence
