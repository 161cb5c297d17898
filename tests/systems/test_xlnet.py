"""XLNet: the sizes of the paper, what each task's head reads, no gradient from what is predicted, and a run that goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import saccade
from saccade import config, systems
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.systems.xlnet import PRESETS, Config
from saccade.training.settings import resolve

from .test_bert import count, run
from .tiny import loss_of, tiny

pytestmark = pytest.mark.usefixtures("put_back")
CASED = Vocabulary(size=32_000, pad=5, start=3, end=4, unknown=0, mask=6)


def made(preset: str, **sizes: Any) -> Any:
    with torch.device("meta"):
        return systems.load("xlnet").Model(Config(**PRESETS[preset]["model"]), CASED, 512, **sizes)


@pytest.mark.parametrize(("preset", "encoder"), [("base", 116_718_336), ("large", 360_268_800)])
def test_the_presets_are_the_published_models(preset: str, encoder: int) -> None:
    """Published counts hold the vector of the query stream, which ours has with the head that predicts, and no bias."""
    model = made(preset)
    width = model.config.hidden_size
    assert count(model) == encoder + 32_000
    assert count(model.encoder) == encoder - width
    assert count(made(preset, pooler=False)) == encoder - width
    assert count(made(preset, labels=3)) == encoder - width + width * (width + 1) + 3 * (width + 1)


def test_a_task_has_its_head_and_no_other() -> None:
    heads = ("pooler", "masked", "label_output", "tag_output", "span_output")
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"masked"}),
        ({"labels": 3}, {"pooler", "label_output"}),
        ({"tags": 3}, {"tag_output"}),
        ({"spans": 2}, {"span_output"}),
        ({"pooler": False}, set()),
    ]
    for sizes, wanted in cases:
        model = made("base", **sizes)
        assert {name for name in heads if getattr(model, name) is not None} == wanted
    with pytest.raises(UsageError, match=r"num_heads: expected a divisor of hidden_size \(128\), got 3"):
        Config(num_heads=3)
    one = tiny("xlnet")
    headless = systems.load("xlnet").Model(one.settings.model, one.task.reader.vocabulary, 14, pooler=False)
    with pytest.raises(UsageError, match="expected a model with a head, got one that makes vectors only"):
        headless(one.batch())


def test_no_token_helps_to_predict_itself_or_what_comes_before_it_in_the_order() -> None:
    one = tiny("xlnet")
    input = one.batch().input
    embedded: list[Tensor] = []
    one.model.encoder.embedding.register_forward_hook(lambda module, args, out: embedded.append(out))
    logits = one.model.logits(input)
    for number, (row, slot) in enumerate(zip(input.rows.tolist(), input.slots.tolist(), strict=True)):
        (found,) = torch.autograd.grad(logits[number].square().sum(), embedded[-1], retain_graph=True)
        unseen = input.asked[row, slot:][input.ranks[row, slot:] > 0]
        seen = [place for place in range(int(input.lengths[row])) if place not in unseen.tolist()]
        assert (found[row, unseen] == 0).all()
        assert (found[row, seen] != 0).any(-1).all()


def test_labels_are_made_from_the_last_token_and_answers_that_are_none_too() -> None:
    one = tiny("xlnet", "label")
    input = one.batch().input
    states = one.model.states(input)
    last = states[range(len(states)), input.lengths - 1]
    assert torch.equal(one.model.class_states(states, input), last)
    wanted = one.model.label_output(torch.tanh(one.model.pooler(last)))
    torch.testing.assert_close(one.model.logits(input), wanted)
    other = tiny("xlnet", "span")
    batch = other.batch().input
    ends = other.model.span_output(other.model.states(batch))
    found = other.model.logits(batch)
    torch.testing.assert_close(found[:, 0], ends[range(len(ends)), batch.lengths - 1])
    open_to_answers = (batch.segments == 1) & (batch.tokens != other.task.reader.vocabulary.end)
    assert torch.equal(found[:, 1:, 0].isfinite(), open_to_answers[:, 1:])


def test_segments_and_distances_make_a_difference() -> None:
    one = tiny("xlnet", "label")
    batch = one.batch().input
    one_text = replace(batch, segments=torch.zeros_like(batch.segments))
    assert (one.model.logits(batch) - one.model.logits(one_text)).abs().max() > 1e-3
    names = replace(batch, segments=(batch.segments + 1) % 3)  # only whether two are one is told
    torch.testing.assert_close(one.model.logits(names), one.model.logits(batch))
    moved = replace(batch, tokens=torch.cat((batch.tokens[:, :2].flip(1), batch.tokens[:, 2:]), 1))
    assert (one.model.logits(batch) - one.model.logits(moved)).abs().max() > 1e-3


def test_the_memory_is_in_training_what_it_is_in_evaluation() -> None:
    """It is computed anew from the tokens before: a batch says all that its loss depends on."""
    one = tiny("xlnet", dropout=0.0)
    batch = one.batch()
    assert torch.equal(loss_of(one.model.train(), batch), loss_of(one.model.eval(), batch))
    nothing = replace(batch.input, memory=batch.input.memory[:, :0])
    assert loss_of(one.model, replace(batch, input=nothing)).item() != loss_of(one.model, batch).item()


def test_by_default_it_remembers_and_the_class_token_stands_last() -> None:
    settings = resolve({"system": "xlnet"}, ["data.train=my.txt"])
    assert settings.writer.mem_len == 64
    assert settings.reader.class_last
    assert resolve({"system": "xlnet"}, ["task=label", "data.train=my.tsv"]).reader.class_last


def test_a_run_that_goes_on_comes_to_the_same_bits(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", 4, name="xlnet")
    assert whole.run.settings.writer.mem_len == 64
    run(tmp_path / "parts", 2, name="xlnet")
    parts = run(tmp_path / "parts", 4, resume=True)
    assert parts.step == whole.step
    for key, value in whole.module.state_dict().items():
        assert torch.equal(value, parts.module.state_dict()[key]), key


def test_a_label_is_learned_from_a_pre_trained_model(tmp_path: Path) -> None:
    before = run(tmp_path / "before", 2, name="xlnet")
    assert len(before.predict("red [MASK] runs", n_best=3).alternatives) == 2
    rows = [(f"red fox {n}", "ab"[n % 2]) for n in range(40)]
    given: dict[str, Any] = {"steps": 2, "threads": 1, "warmup": 0, "learning_rate": 1e-30, "valid_every": 2}
    after = saccade.train("xlnet", rows, tmp_path / "after", start=tmp_path / "before", task="label", quiet=True, **given)
    assert config.read(tmp_path / "after" / "config.toml")["task"] == "label"
    for key, value in before.module.encoder.state_dict().items():
        torch.testing.assert_close(value, after.module.encoder.state_dict()[key], atol=0, rtol=0)
    assert after.predict("red fox 1").text in ("a", "b")
    look = after.look("red fox ||| one bird")
    assert [one.name for one in look.trace.scenes[0].looks] == ["self-attention, layer 1"]
    with after.without("1.0"):
        assert after.embed(["red fox"]).shape == (1, 8)
    with pytest.raises(UsageError, match="unknown pool 'last'; known: first, mean"):
        after.embed("red fox", pool="last")
    first, mean = (torch.from_numpy(after.embed("red fox", pool=pool)) for pool in ("first", "mean"))
    assert (first - mean).abs().max() > 1e-3
