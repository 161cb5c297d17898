"""BERT: the sizes of the paper, what each task's head reads, and a run that goes on to the same bits."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import saccade
from saccade import config
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.systems import bert
from saccade.systems.bert import PRESETS, Config, Model
from saccade.trained import TrainedModel

from .tiny import tiny, without_dropout

pytestmark = pytest.mark.usefixtures("put_back")
UNCASED = Vocabulary(size=30_522, pad=0, start=101, end=102, unknown=100, mask=103)
TEXT = "Red foxes run over the hill. The dog sings, and the sun goes down. One bird sees it all.\n"


def count(*parts: nn.Module | None) -> int:
    return sum(one.numel() for part in parts if part is not None for one in part.parameters())


def made(preset: str, **sizes: Any) -> Model:
    with torch.device("meta"):
        return Model(Config(**PRESETS[preset]["model"]), UNCASED, 512, **sizes)


@pytest.mark.parametrize(
    ("preset", "pooled", "masked", "both"),
    [
        ("base", 109_482_240, 109_514_298, 110_106_428),
        ("large", 335_141_888, 335_174_458, 336_226_108),
    ],
)
def test_the_presets_are_the_published_models(preset: str, pooled: int, masked: int, both: int) -> None:
    assert count(made(preset, pooler=True)) == pooled
    assert count(made(preset)) == masked
    assert count(made(preset, next_sentence=True)) == both


def test_a_task_has_its_head_and_no_other() -> None:
    heads = ("pooler", "masked", "following", "label_output", "tag_output", "span_output")
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"masked"}),
        ({"next_sentence": True}, {"pooler", "masked", "following"}),
        ({"labels": 3}, {"pooler", "label_output"}),
        ({"tags": 3}, {"tag_output"}),
        ({"spans": 2}, {"span_output"}),
        ({"pooler": True}, {"pooler"}),
        ({"pooler": False}, set()),
    ]
    for sizes, wanted in cases:
        model = made("base", **sizes)
        assert {name for name in heads if getattr(model, name) is not None} == wanted


def test_a_text_that_is_longer_than_the_positions_is_refused_at_once() -> None:
    with pytest.raises(
        UsageError, match=r"reader.max_length: expected at most model.max_positions=512, got 513; shorten it"
    ):
        Model(Config(), UNCASED, 513)
    with pytest.raises(UsageError, match=r"num_heads: expected a divisor of hidden_size \(128\), got 3"):
        Config(num_heads=3)
    one = tiny("bert")
    headless, batch = Model(one.settings.model, one.task.reader.vocabulary, 32, pooler=False), one.batch()
    with pytest.raises(UsageError, match="expected a model with a head, got one that makes vectors only"):
        headless(batch)


def test_an_answer_stands_in_the_second_text_or_at_the_first_token() -> None:
    one = tiny("bert", "span")
    batch = one.batch()
    found = one.model.logits(batch.input).isfinite()
    for row in range(5):
        inside = (batch.input.segments[row] == 1) & (batch.input.tokens[row] != one.task.reader.vocabulary.end)
        inside[0] = True
        assert torch.equal(found[row, :, 0], inside)
    assert torch.equal(found[..., 0], found[..., 1])


def test_segments_and_positions_make_a_difference() -> None:
    one = tiny("bert", "label", **without_dropout("bert"))
    batch = one.batch().input
    swapped = type(batch)(**{**vars(batch), "segments": 1 - batch.segments})
    assert (one.model.logits(batch) - one.model.logits(swapped)).abs().max() > 1e-3
    moved = type(batch)(**{**vars(batch), "tokens": batch.tokens.roll(1, 1)})
    assert (one.model.logits(batch) - one.model.logits(moved)).abs().max() > 1e-3


def run(path: Path, steps: int, *, resume: bool = False, name: str = "bert", **settings: Any) -> TrainedModel:
    """A small run on running text."""
    small = {"hidden_size": 8, "num_layers": 1, "num_heads": 2, "intermediate_size": 8}
    given: dict[str, Any] = {"steps": steps, "threads": 1, "batch_size": 4, "schedule": "constant", "warmup": 0}
    given |= {"valid_every": 2, "save_every": 2, "log_every": 1}
    if resume:
        again: TrainedModel = saccade.train(path, resume=True, quiet=True, steps=steps)
        return again
    sections: dict[str, Any] = {"model": small, "reader": {"max_length": 24}, "tokens": {"size": 320}, **settings}
    begun: TrainedModel = saccade.train(name, [TEXT * 3, TEXT.upper() * 2], path, quiet=True, **given, **sections)
    return begun


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_a_run_that_goes_on_comes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", 4, name=name)
    run(tmp_path / "parts", 2, name=name)
    parts = run(tmp_path / "parts", 4, resume=True)
    assert parts.step == whole.step
    for key, value in whole.module.state_dict().items():
        assert torch.equal(value, parts.module.state_dict()[key]), key
    assert "task" not in config.read(tmp_path / "whole" / "config.toml")


def test_a_label_is_learned_from_a_pre_trained_model(tmp_path: Path) -> None:
    """The encoder and the tokens are taken over, the head is new; looks and vectors of both are there."""
    before = run(tmp_path / "before", 2)
    rows = [(f"red fox {n}", "ab"[n % 2]) for n in range(40)]
    given: dict[str, Any] = {"steps": 2, "threads": 1, "warmup": 0, "learning_rate": 1e-30, "valid_every": 2}
    after = saccade.train("bert", rows, tmp_path / "after", start=tmp_path / "before", task="label", quiet=True, **given)
    assert config.read(tmp_path / "after" / "config.toml")["task"] == "label"
    assert after.task.reader.tokenizer.tokens() == before.task.reader.tokenizer.tokens()
    for key, value in before.module.encoder.state_dict().items():
        torch.testing.assert_close(value, after.module.encoder.state_dict()[key], atol=0, rtol=0)
    assert after.module.label_output.weight.shape == (2, 8)
    assert after.predict("red fox 1").text in ("a", "b")
    look = after.look("red fox ||| one bird")
    assert [one.name for one in look.trace.scenes[0].looks] == ["self-attention, layer 1"]
    assert after.embed(["red fox", "one bird"]).shape == (2, 8)
    torch.testing.assert_close(
        torch.from_numpy(before.embed("red fox")), torch.from_numpy(after.embed("red fox")), atol=1e-6, rtol=1e-6
    )
    assert bert.TASKS["label"] == ("pieces", "label")
