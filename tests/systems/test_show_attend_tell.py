"""Show, attend and tell with hard attention: draws in training alone, alike on every device, a baseline that moves."""

from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.examples import Picture

from ..second_device import DEVICE, on_cpu, on_device, second_device
from .samples import close, gradients
from .tiny import Tiny, loss_of, options, tiny, without_dropout

HARD = {"attention": "hard", "expected_steps": 0, **without_dropout("show_attend_tell")}


def hard(**changed: float) -> Tiny:
    return tiny("show_attend_tell", **{**HARD, **changed})


def test_hard_attention_looks_at_one_cell_for_every_token() -> None:
    one = hard()
    for (best,) in one.task.predictions(one.model, one.examples, options(looks=True)):
        weights = best.looks[0].weights
        assert (np.sort(weights, -1)[..., -1] == 1).all()
        assert (weights.sum(-1) == 1).all()


def test_a_beam_of_hard_attention_does_not_depend_on_the_company() -> None:
    one, two = hard(), options(looks=True, method="beam", beam=3, n_best=2)
    together = one.task.predictions(one.model, one.examples, two)
    for i, best in enumerate(together):
        (alone,) = one.task.predictions(one.model, [one.examples[i]], two, [i])
        assert [own.text for own in alone] == [own.text for own in best]
        for own, other in zip(alone, best, strict=True):
            np.testing.assert_array_equal(own.looks[0].weights, other.looks[0].weights)


def test_a_training_step_reaches_every_parameter_and_moves_the_baseline() -> None:
    one = hard()
    before = one.model.baseline.clone()
    torch.manual_seed(9)
    output = one.model.train()(one.batch())
    found = gradients(one.model, output.loss)
    assert all(gradient.isfinite().all() and gradient.abs().sum() > 0 for gradient in found.values())
    after, target = one.model.baseline.clone(), one.batch().target
    written = torch.bincount(torch.cat([row[:size] for row, size in zip(target.tokens, target.lengths, strict=True)]))
    counts = torch.nn.functional.pad(written, (0, len(before) - len(written)))
    assert ((after != before) == (counts > 0)).all()  # of what stands in a caption
    means = before + (after - before) / 0.1
    torch.testing.assert_close((means * counts).sum(), -output.metrics["cross_entropy"])
    one.model.eval()(one.batch())
    torch.testing.assert_close(one.model.baseline, after)
    assert "baseline" in one.model.state_dict()  # a run that is resumed goes on with it


def test_of_the_expected_context_alone_the_gradient_is_that_of_soft_attention() -> None:
    """And of no place that was drawn REINFORCE learns anything."""
    one = hard(expected_share=1.0, entropy_weight=0.0, max_shift=0)
    other = tiny("show_attend_tell", **{**HARD, "attention": "soft"}, max_shift=0)
    other.model.load_state_dict(one.model.state_dict(), strict=False)
    found, expected = (each.model.train()(each.batch()).loss for each in (one, other))
    torch.testing.assert_close(found, expected)
    close(gradients(one.model, found), gradients(other.model, expected), 1e-5)


def test_nothing_is_drawn_in_the_first_updates() -> None:
    """Until the weights say something, the gradient is that of the expected context, whatever the share."""
    one = hard(expected_share=0.0, expected_steps=2, entropy_weight=0.0, max_shift=0)
    other = hard(expected_share=1.0, entropy_weight=0.0, max_shift=0)
    model = one.model.train()
    for alike in (True, True, False):
        found, expected = (loss_of(each, one.batch()) for each in (model, other.model.train()))
        assert torch.allclose(found, expected) == alike
    assert int(model.updates) == 3
    model.eval()(one.batch())
    assert int(model.updates) == 3
    assert "updates" in model.state_dict()  # a run that is resumed goes on counting


def test_devices_agree_on_what_is_drawn() -> None:
    one, other = hard(), hard()
    expected = gradients(one.model, loss_of(one.model.train(), one.batch()))
    with second_device():
        moved = on_device(other.model.train())
        found = gradients(moved, loss_of(moved, other.batch().to(DEVICE)))
    close(on_cpu(found), expected, 1e-5)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_what_stands_behind_the_end_of_a_caption_changes_nothing(share: float) -> None:
    one = hard(expected_share=share, max_shift=0)
    one.model.train()
    batch = one.batch()
    wider = torch.nn.functional.pad(batch.target.tokens, (0, 3), value=5)
    changed = type(batch.target)(wider, batch.target.lengths, batch.target.first)
    places = torch.rand(wider.shape[1], len(wider))

    def loss(target: Any) -> Any:
        size = target.tokens.shape[1]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                torch, "rand", lambda shape: torch.full((shape,), 0.5) if isinstance(shape, int) else places[:size]
            )
            return one.model(type(batch)(batch.input, target)).loss

    before = one.model.baseline.clone()
    found = loss(batch.target)
    one.model.baseline.copy_(before)
    torch.testing.assert_close(loss(changed), found)


def test_a_caption_is_scored_by_every_reference() -> None:
    one = tiny("show_attend_tell")
    example = one.examples[1]
    assert isinstance(example.input, Picture)
    (best,) = one.task.predictions(one.model, [example], options())[0]
    writer = one.task.writer
    for target in (f"other\n{best.text}", f"{best.text}\nother"):
        scored = type(example)(example.input, target)
        assert writer.brief([scored], [best])["exact_match"] == 1
