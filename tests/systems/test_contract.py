"""What every system promises: a config that explains itself, a loss, results that do not depend on the company, looks."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from saccade import config, readers, systems, writers
from saccade.data.tensors import (
    AspectInput,
    Batch,
    DocumentInput,
    FactsInput,
    MaskedTarget,
    PictureQuestionInput,
    PiecesInput,
    TextInput,
    TextTarget,
    WordsInput,
)
from saccade.errors import UnknownName
from saccade.task import Task
from saccade.view.trace import check
from saccade.writers.writer import Prediction

from .samples import close, gradients
from .tiny import COUNT, Tiny, loss_of, options, output_of, tiny, without_dropout

every = pytest.mark.parametrize("name", systems.names())

# Parameters without a gradient, by system, and why.
UNREACHED: dict[str, tuple[set[str], str]] = {
    "set_outlier": ({"score.common.weight", "score.own.bias"}, "what all scores of a set share cancels in the margin"),
}
# Systems whose rows of weights do not sum to 1, and why.
LESS: dict[str, str] = {
    "memory_network": "the rest falls to empty places of the memory",
    "lstmn": "the first word has nothing before it",
    "se_resnet": "each channel has a gate of its own",
    "set_expansion": "a picture shows the first of all words",
    "ask_attend_answer": "the weights of the first hop are shared out among the words",
}
PADDED = ("text", "words", "aspect", "document", "pieces", "picture_question", "story", "facts")  # which pad their inputs
# Writers whose scores have a loss that only `forward` computes: of given texts, and of a margin.
OWN_LOSS = ("text", "caption", "continuation", "item", "masked", "permuted")
# Systems that read no more than they are made for, and why.
FULL = {"gpt2": "no window of text is longer than its context"}
# Systems that write labels, but of one pass, and why.
WITHOUT_AGREEMENT = {"ram": "two passes look at different places by chance"}


def attending() -> list[str]:
    """Systems that have something to show."""
    return [name for name in systems.names() if systems.attends(name, systems.load(name).Config())]


def with_setting(key: str) -> list[str]:
    """Systems whose writer has this setting."""
    kinds = {name: writers.load(systems.load(name).WRITES).Config for name in systems.names()}
    return [name for name, kind in kinds.items() if key in {field.name for field in dataclasses.fields(kind)}]


# What it says of itself


@every
def test_its_config_explains_itself(name: str) -> None:
    kind: type[Any] = systems.load(name).Config
    assert dataclasses.is_dataclass(kind)
    assert all(field.kw_only for field in dataclasses.fields(kind))
    with pytest.raises(FrozenInstanceError):
        setattr(kind(), dataclasses.fields(kind)[0].name, 1)
    for field, type_name, default, line in config.described(kind):
        assert default is not None, field
        assert type_name, field
        assert line.endswith((".", "…")), field
        assert len(line) < 160, field
    assert config.build(kind, config.plain(kind()), "model") == kind()


@every
def test_its_sentence_is_whole(name: str) -> None:
    found = systems.sentence(name)
    assert set(found) == {"name", "paper", "reads", "attends", "writes", "reader", "writer"}
    assert all(found.values())
    assert re.search(r"\(.*\d{4}\)", found["paper"])


@every
def test_its_reader_and_writer_are_known(name: str) -> None:
    module = systems.load(name)
    for kind, part in ((readers.load(module.READS), "Reader"), (writers.load(module.WRITES), "Writer")):
        assert dataclasses.is_dataclass(kind.Config)
        assert hasattr(kind, part)


def test_an_unknown_system_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'bahdanau'"):
        systems.load("bahdanaw")
    with pytest.raises(UnknownName):
        systems.load("system")


# Its loss


@every
def test_its_loss_is_a_finite_number_that_reaches_every_parameter(name: str) -> None:
    one = tiny(name, **without_dropout(name))
    torch.manual_seed(9)
    output = one.model.train()(one.batch())
    assert output.loss.shape == ()
    assert 0 < output.loss.item() < float("inf")
    unreached = UNREACHED.get(name, (set(), ""))[0]
    found = gradients(one.model, output.loss)
    assert unreached <= found.keys()
    for parameter, gradient in found.items():
        assert gradient.isfinite().all(), parameter
        assert gradient.abs().sum() > 0 or parameter in unreached, parameter


@every
def test_its_count_is_what_was_predicted(name: str) -> None:
    one = tiny(name)
    for chosen in (one.rows, one.rows[1::2]):
        batch = one.batch(chosen)
        expected = int(batch.target.lengths.sum()) if isinstance(batch.target, TextTarget) else len(chosen)
        expected = len(batch.target) if isinstance(batch.target, MaskedTarget) else expected
        assert int(one.model(batch).count) == expected


@every
def test_an_example_alone_is_the_same_as_in_a_batch(name: str) -> None:
    one = tiny(name)
    together, alone = one.batch(), [one.batch([i]) for i in one.rows]
    losses = [loss_of(one.model, batch) for batch in alone]
    assert sum(loss.item() for loss in losses) == pytest.approx(loss_of(one.model, together).item(), rel=1e-5)
    summed = [gradients(one.model, loss) for loss in losses]
    expected = {key: torch.stack([own[key] for own in summed]).sum(0) for key in summed[0]}
    close(gradients(one.model, loss_of(one.model, together)), expected, 3e-5)
    if output_of(one.model, together).dim():
        apart = torch.cat([output_of(one.model, batch) for batch in alone])
        torch.testing.assert_close(output_of(one.model, together), apart, atol=1e-5, rtol=1e-5)


@every
def test_what_it_predicts_does_not_depend_on_the_company(name: str) -> None:
    one, two = tiny(name), options(looks=True, method="beam", beam=2, n_best=2)
    together = one.task.predictions(one.model, one.examples, two)
    assert len({(best[0].text, best[0].log_prob) for best in together}) > 1
    for i, best in enumerate(together):
        (alone,) = one.task.predictions(one.model, [one.examples[i]], two, [i])
        assert [own.text for own in alone] == [own.text for own in best]
        for own, other in zip(alone, best, strict=True):
            assert own.log_prob == pytest.approx(other.log_prob, abs=1e-4, rel=1e-5)
            for look, same in zip(*(looks_of(one, i, each) for each in (own, other)), strict=True):
                np.testing.assert_allclose(look, same, atol=1e-5, rtol=1e-5)


def looks_of(one: Tiny, place: int, prediction: Prediction) -> list[Any]:
    """The weights of its picture."""
    return [look.weights for look in one.task.scene(one.model, one.examples[place], prediction).looks]


# Its padding


def dirty(batch: Batch, garbage: int, more: int) -> Batch:
    """The batch with another token in its padding, and so many more places of it."""
    return Batch(_dirty(batch.input, garbage, more), _dirty(batch.target, garbage, more))


def _dirty(part: Any, garbage: int, more: int) -> Any:
    if isinstance(part, PictureQuestionInput):
        return replace(part, question=_dirty(part.question, garbage, more))
    if not isinstance(part, TextInput | DocumentInput | TextTarget):
        return part
    changed: dict[str, Any] = {"tokens": _filled(part.tokens, part.lengths, garbage, more)}
    if isinstance(part, WordsInput) and part.spelling is not None:
        changed["spelling"] = _filled(part.spelling, part.lengths, 1, more)
    if isinstance(part, PiecesInput):
        changed["segments"] = _filled(part.segments, part.lengths, 1, more)
    if isinstance(part, FactsInput):
        changed["values"] = _filled(part.values, part.value_lengths, garbage, more)
    if isinstance(part, AspectInput):
        changed["aspect"] = _filled(part.aspect, part.aspect_lengths, garbage, more)
        changed["distance"] = _filled(part.distance, part.lengths, -1, more)
    return replace(part, **changed)


def _rectangles(one: Batch, other: Batch) -> list[tuple[Any, Any]]:
    """Inputs and targets of both that have tokens."""
    inputs = [getattr(batch.input, "question", batch.input) for batch in (one, other)]
    pairs = (inputs[0], inputs[1]), (one.target, other.target)
    return [pair for pair in pairs if hasattr(pair[0], "tokens")]


def _filled(ids: Tensor | None, sizes: Tensor, garbage: int, more: int) -> Tensor | None:
    """Rows (B, K, …) with this behind their ends."""
    if ids is None:
        return None
    wider = pad(ids, (0, 0) * (ids.dim() - 2) + (0, more), value=garbage)
    live = torch.arange(wider.shape[1]) < sizes[:, None]
    return wider.where(live.view(*live.shape, *[1] * (ids.dim() - 2)), garbage)


@pytest.mark.parametrize("name", [name for name in systems.names() if systems.load(name).READS in PADDED])
@pytest.mark.parametrize(("garbage", "more"), [(7, 0), (2, 0), (1, 3)])
def test_what_stands_in_the_padding_changes_nothing(name: str, garbage: int, more: int) -> None:
    one = tiny(name)
    clean = one.batch()
    other = dirty(clean, garbage, 0 if name in FULL else more)
    assert any(not torch.equal(one.tokens, two.tokens) for one, two in _rectangles(clean, other))
    losses = [loss_of(one.model, batch) for batch in (clean, other)]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-6)
    close(gradients(one.model, losses[0]), gradients(one.model, losses[1]), 1e-5)
    torch.testing.assert_close(output_of(one.model, clean), output_of(one.model, other), atol=1e-5, rtol=1e-5)


# What belongs to training only


@pytest.mark.parametrize("name", with_setting("label_smoothing"))
def test_labels_are_smoothed_in_training_only(name: str) -> None:
    one = tiny(name, **without_dropout(name))
    if hasattr(one.settings.model, "flip"):
        one = tiny(name, flip=0.0, max_shift=0)

    def loss(share: float) -> float:
        batch = one.batch()
        return float(loss_of(one.model, replace(batch, target=replace(batch.target, label_smoothing=share))).detach())

    assert loss(0.5) == loss(0.0)
    one.model.train()
    assert loss(0.5) != loss(0.0)
    assert loss(0.25) == pytest.approx((loss(0.0) + loss(0.5)) / 2, rel=1e-5)


@pytest.mark.parametrize("name", sorted({*with_setting("agreement")} - {*WITHOUT_AGREEMENT}))
def test_two_passes_agree_in_training_only(name: str) -> None:
    one = tiny(name)
    batch = one.batch()
    agreeing = replace(batch, target=replace(batch.target, agreement=2.0))
    assert loss_of(one.model, agreeing).item() == loss_of(one.model, batch).item()
    one.model.train()
    assert loss_of(one.model, agreeing).item() != pytest.approx(loss_of(one.model, batch).item(), rel=1e-4)


@every
def test_in_evaluation_nothing_is_left_to_chance(name: str) -> None:
    one = tiny(name)
    before = {key: value.clone() for key, value in one.model.state_dict().items()}
    found = [output_of(one.model, one.batch()) for _ in range(2)]
    assert torch.equal(*found)
    assert all(torch.equal(value, before[key]) for key, value in one.model.state_dict().items())


# What it predicts, in one pass


def same(one: Sequence[Prediction], other: Sequence[Prediction]) -> None:
    """The same texts and numbers, bit for bit."""
    assert [own.text for own in one] == [own.text for own in other]
    assert [own.log_prob for own in one] == [own.log_prob for own in other]
    for own, same in zip(one, other, strict=True):
        assert (own.values is None) == (same.values is None)
        assert own.values is None or same.values is None or np.array_equal(own.values, same.values)


@every
def test_evaluation_scores_what_is_predicted(name: str) -> None:
    one = tiny(name)
    found = one.task.evaluate(one.model, one.examples, options())
    assert set(found.scores["all"]) & set(one.task.writer.metrics(one.settings.writer))
    if not one.task.writer.PREDICTED:  # the scores are of the loss alone
        assert not found.predictions
        return
    assert [own.example for own in found.predictions] == list(one.examples)
    predicted = [best[0] for best in one.task.predictions(one.model, one.examples, options())]
    assert [own.text for own in found.predictions] == [own.text for own in predicted]


def counted(model: Any, names: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of these methods from outside, as they come."""
    calls: list[str] = []
    running: list[str] = []

    def watch(name: str) -> None:
        original = getattr(model, name)

        def called(*given: Any) -> Any:
            calls.extend([] if running else [name])
            running.append(name)
            try:
                return original(*given)
            finally:
                running.pop()

        monkeypatch.setattr(model, name, called)

    for name in names:
        watch(name)
    return calls


@every
@pytest.mark.parametrize("budget", [1, 1 << 20])
def test_each_batch_is_computed_once(name: str, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one, writes = tiny(name), systems.load(name).WRITES
    monkeypatch.setattr(type(one.task.reader), "budget", budget)
    entry = next(entry for entry in ("logits", "numbers", "vectors", "scores", "read", "start") if hasattr(one.model, entry))
    batches = (COUNT, len(one.rows)) if budget == 1 else (1, 1)
    calls = counted(one.model, (entry, "forward"), monkeypatch)
    if one.task.writer.PREDICTED:
        one.task.predictions(one.model, one.examples, options())
        assert calls == [entry] * batches[0]
    expected = [*calls, *["forward"] * (batches[1] if writes in OWN_LOSS else 0)]
    calls.clear()
    one.task.evaluate(one.model, one.examples, options())
    assert calls == expected


@every
def test_what_is_saved_predicts_the_same_bits(name: str, tmp_path: Path) -> None:
    one = tiny(name)
    one.task.save(tmp_path)
    task = Task.load(one.settings, tmp_path)
    other = systems.load(name).Model(one.settings.model, **task.sizes()).eval()
    assert loss_of(one.model, one.batch()).item() != loss_of(other, one.batch()).item()
    other.load_state_dict(one.model.state_dict())
    before, after = one.task.best(one.model, one.examples, options()), task.best(other, one.examples, options())
    same(before, after)
    again = task.corpus(one.examples).batch(one.rows)
    assert loss_of(one.model, one.batch()).item() == loss_of(other, again).item()


# Where it looked


@pytest.mark.parametrize("name", attending())
def test_its_looks_are_sound(name: str) -> None:
    one = tiny(name)
    for example, (best, *_) in zip(
        one.examples, one.task.predictions(one.model, one.examples, options(looks=True)), strict=True
    ):
        scene = one.task.scene(one.model, example, best)
        check(scene)
        assert scene.looks
        for look in scene.looks:
            if look.places is not None:  # glimpses are chosen, not weighed
                continue
            assert look.weights.min() >= 0
            totals = look.weights.sum(-1)
            if name not in LESS:
                np.testing.assert_allclose(totals, 1, atol=1e-5, err_msg=look.name)
            elif name != "se_resnet":
                assert totals.max() <= 1 + 1e-5
            else:
                assert look.weights.max() <= 1


@every
def test_looking_changes_no_bit(name: str) -> None:
    one = tiny(name)
    found = [one.task.predictions(one.model, one.examples, options(looks=looks)) for looks in (False, True)]
    for without, seen in zip(*found, strict=True):
        same(without, seen)
        assert not any(own.looks for own in without)
        assert bool(seen[0].looks) == (name in attending())
