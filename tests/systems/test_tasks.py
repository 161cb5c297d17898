"""What a system promises, it promises for each of its tasks: loss, company, padding, looks, and what is kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade import systems, writers
from saccade.errors import UnknownName, UsageError
from saccade.systems import sides
from saccade.task import Kinds, Task
from saccade.view.trace import check

from .samples import close, gradients
from .test_contract import dirty, same
from .tiny import loss_of, options, tiny, without_dropout

SYSTEMS = [name for name in systems.names() if hasattr(systems.load(name), "TASKS")]
UNTRAINED = "vector"
BEST: dict[str, Any] = {"method": "beam", "beam": 2, "n_best": 2}
PAIRS = [
    (name, task) for name in SYSTEMS for task in systems.load(name).TASKS if task not in ("masked", "permuted", UNTRAINED)
]
each = pytest.mark.parametrize(("name", "task"), PAIRS)


def test_there_are_systems_with_several_tasks() -> None:
    assert SYSTEMS == ["bert", "roberta", "xlnet"]
    for name in SYSTEMS:
        module = systems.load(name)
        assert {*module.TASKS} == {module.WRITES, "label", "tags", "span", "vector"}
        assert {*module.TASK_DEFAULTS} == {*module.TASKS} - {module.WRITES}
        assert module.TASKS[module.WRITES] == (module.READS, module.WRITES)


def test_a_task_names_reader_and_writer() -> None:
    assert sides("bert") == sides("bert", "masked") == ("pieces", "masked")
    assert sides("bert", "tags") == ("placed_pieces", "tags")
    assert Kinds.of("bert", "tags").own == "tagged_files"
    assert Kinds.of("bert", "label").own == "pair_files"
    with pytest.raises(UnknownName, match="task of bert 'labels'; did you mean 'label'"):
        sides("bert", "labels")
    with pytest.raises(UsageError, match=r"task: gpt2 has one task only, got 'label'; leave it out"):
        sides("gpt2", "label")


@each
def test_its_loss_reaches_every_parameter(name: str, task: str) -> None:
    one = tiny(name, task, **without_dropout(name))
    output = one.model.train()(one.batch())
    assert 0 < output.loss.item() < float("inf")
    expected = sum(len(example.target.split()) for example in one.examples) if task == "tags" else len(one.examples)
    assert int(output.count) == expected
    for parameter, gradient in gradients(one.model, output.loss).items():
        assert gradient.isfinite().all(), parameter
        assert gradient.abs().sum() > 0, parameter


@each
def test_an_example_alone_is_the_same_as_in_a_batch(name: str, task: str) -> None:
    one = tiny(name, task)
    alone = [loss_of(one.model, one.batch([i])) for i in one.rows]
    together = loss_of(one.model, one.batch())
    assert sum(loss.item() for loss in alone) == pytest.approx(together.item(), rel=1e-5)
    summed = [gradients(one.model, loss) for loss in alone]
    expected = {key: torch.stack([own[key] for own in summed]).sum(0) for key in summed[0]}
    close(gradients(one.model, together), expected, 3e-5)


@pytest.mark.parametrize(("name", "task"), [*PAIRS, *((name, UNTRAINED) for name in SYSTEMS)])
def test_what_it_predicts_depends_neither_on_the_company_nor_on_who_looks(name: str, task: str) -> None:
    if task == UNTRAINED:
        base = tiny(name)
        writer = writers.load(UNTRAINED).Writer(writers.load(UNTRAINED).Config())
        one = base._replace(task=Task(base.task.reader, writer))
    else:
        one = tiny(name, task)
    blind, seen = (one.task.predictions(one.model, one.examples, options(looks=looks, **BEST)) for looks in (False, True))
    assert len({(best[0].text, best[0].log_prob) for best in blind}) > 1
    for i, (best, other) in enumerate(zip(blind, seen, strict=True)):
        same(best, other)
        (alone,) = one.task.predictions(one.model, [one.examples[i]], options(**BEST), [i])
        if task != UNTRAINED:
            assert [own.text for own in alone] == [own.text for own in best]
            assert [own.log_prob for own in alone] == pytest.approx([own.log_prob for own in best], abs=1e-4)
        scene = one.task.scene(one.model, one.examples[i], other[0])
        check(scene)
        assert [look.name for look in scene.looks] == ["self-attention, layer 1", "self-attention, layer 2"]
        for look in scene.looks:
            np.testing.assert_allclose(look.weights.sum(-1), 1, atol=1e-5)


@each
@pytest.mark.parametrize(("garbage", "more"), [(7, 0), (2, 0), (1, 3)])
def test_what_stands_in_the_padding_changes_nothing(name: str, task: str, garbage: int, more: int) -> None:
    one = tiny(name, task)
    clean = one.batch()
    other = dirty(clean, garbage, more)
    assert not torch.equal(clean.input.tokens, other.input.tokens)
    if task == "span":  # segments say where an answer may be
        segments = torch.nn.functional.pad(clean.input.segments, (0, more))
        other = type(other)(type(other.input)(**{**vars(other.input), "segments": segments}), other.target)
    losses = [loss_of(one.model, batch) for batch in (clean, other)]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-6)
    close(gradients(one.model, losses[0]), gradients(one.model, losses[1]), 1e-5)


@each
def test_evaluation_and_what_is_saved(name: str, task: str, tmp_path: Path) -> None:
    one = tiny(name, task)
    found = one.task.evaluate(one.model, one.examples, options())
    assert set(found.scores["all"]) - {"examples"} <= set(one.task.writer.metrics(one.settings.writer)) | {
        "macro_f1",
        "calibration_error",
    }
    one.task.save(tmp_path)
    again = Task.load(one.settings, tmp_path)
    assert again.sizes() == one.task.sizes()
    same(found.predictions, again.best(one.model, one.examples, options()))
