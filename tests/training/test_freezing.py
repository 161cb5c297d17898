"""Frozen parameters stay as they are, bit for bit; the others get the gradients that they get without."""

import signal
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import torch
from torch import Tensor

from saccade.errors import UsageError
from saccade.systems import names
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.freezing import freeze
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.settings import Settings, resolve
from saccade.training.train import train

from ..systems.tiny import Tiny, loss_of
from ..systems.tiny import tiny as tiny_model
from . import small
from .runs import contents, tiny, tiny_transformer
from .sittings import Noted, Pressed

pytestmark = pytest.mark.usefixtures("put_back")
STEPS = ("train.steps=3", "train.save_every=1", "train.valid_every=3")
CASES: dict[str, tuple[Callable[[Path], Settings], str]] = {
    "transformer": (lambda folder: tiny_transformer(), "encoder.*, *embedding.weight"),
    "transformer, all but the embedding": (lambda folder: tiny_transformer(), "encoder.*,decoder.*"),
    "bahdanau": (lambda folder: tiny(), "source_embedding.*,reader.*"),
    "bahdanau, the writer": (lambda folder: tiny(), "target_embedding.*,decoder.*"),
    "gpt2": (small.windows, "embedding.*,positions.*,layers.0.mixer.*"),
    "document_attention": (small.sentences, "embedding.*,reader.*"),
    "document_attention, the pool": (small.sentences, "pool.*"),
    "gat": (small.graph, "layers.0.*"),
    "se_resnet": (small.pictures, "stem.*,stages.0.*"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_frozen_stays_and_all_else_moves(case: str, tmp_path: Path) -> None:
    made, patterns = CASES[case]
    settings = resolve(
        made(tmp_path).table(), [*STEPS, f"train.freeze={patterns}", "train.decay=matrices", "train.weight_decay=0.1"]
    )
    told = Noted()
    run = train(tmp_path / "run", settings, told)
    model = run.new_model(run.task())
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    after, optimizer = (Checkpoints(run.path).load(3).tensors[part] for part in ("model", "optimizer"))
    frozen = {name for name in before if any(fnmatchcase(name, one.strip()) for one in patterns.split(","))}
    assert 0 < len(frozen) < len(before)
    for name, one in before.items():
        assert torch.equal(after[name], one) == (name in frozen), name
    assert {name.rpartition("/")[0] for name in optimizer} == before.keys() - frozen
    count, total = sum(before[name].numel() for name in frozen), sum(one.numel() for one in before.values())
    assert f"freezing {count:,} of {total:,} parameters" in told.notes


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_run_with_frozen_parameters_is_resumed_bit_for_bit(optimizer: str, tmp_path: Path) -> None:
    words = ("train.freeze=encoder.0.*,target_embedding.*", "train.layer_decay=0.5", f"train.optimizer={optimizer}")
    settings = tiny_transformer(*words, "train.steps=8", "train.schedule=constant")
    train(tmp_path / "whole", settings, Quiet())
    with pytest.raises(Interrupted):
        train(tmp_path / "run", settings, Pressed(5, signal.SIGINT))
    train(tmp_path / "run", settings, Quiet(), resume=True)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    for word in ("train.freeze=", "train.layer_decay=0.9"):
        with pytest.raises(UsageError, match=r"cannot change at step 8 .*: every update so far was made with it"):
            train(tmp_path / "run", resolve(settings.table(), [word]), Quiet(), resume=True)


def gradients(model: Tiny) -> dict[str, Tensor | None]:
    """Of every parameter, from one batch."""
    model.model.zero_grad(set_to_none=True)
    loss_of(model.model, model.batch()).backward()
    return {name: one.grad for name, one in model.model.named_parameters()}


@pytest.mark.parametrize("name", names())
def test_no_gradient_depends_on_which_others_are_wanted(name: str) -> None:
    """Kernels whose inputs, some of them, need no gradient: each parameter alone, and all but it."""
    model = tiny_model(name)
    known = dict(model.model.named_parameters())
    whole = gradients(model)
    for chosen in known:
        for alone in (True, False):
            for other, one in known.items():
                one.requires_grad_((other == chosen) == alone)
            if alone and whole[chosen] is None:
                continue
            for other, own in gradients(model).items():
                expected = whole[other] if known[other].requires_grad else None
                assert (own is None) == (expected is None), (chosen, alone, other)
                if own is not None and expected is not None:
                    scale = float(expected.abs().max())
                    torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-4 * scale + 1e-9)


def test_a_pattern_that_fits_nothing_is_told_with_what_is_near() -> None:
    model = tiny_model("transformer").model
    with pytest.raises(UsageError, match=r"^train\.freeze: no parameter is called 'encodr\.\*'; did you mean encoder\.\*"):
        freeze(model, "decoder.*,encodr.*")
    with pytest.raises(UsageError, match=r"did you mean .*target_embedding"):
        freeze(model, "target_embeding.weight")
    with pytest.raises(UsageError, match=r"'q'; did you mean ") as error:
        freeze(model, "q")
    named = str(error.value).partition("did you mean ")[2].rstrip("?").split(" or ")
    assert len({*named}) == len(named)


def test_something_is_left_to_train() -> None:
    with pytest.raises(UsageError, match=r"train\.freeze=\*: all parameters would be frozen; leave some to be trained"):
        freeze(tiny_model("gat").model, "*")
    model = tiny_model("gat").model
    assert freeze(model, "") == freeze(model, " , ") == []
    assert all(one.requires_grad for one in model.parameters())


def test_a_tied_matrix_is_frozen_by_any_of_its_names() -> None:
    model = tiny_model("transformer", embeddings="one").model
    assert freeze(model, "output.weight") == [
        f"freezing {model.output.weight.numel()} of {sum(one.numel() for one in model.parameters()):,} parameters"
    ]
    assert not model.target_embedding.weight.requires_grad


def test_a_mistake_leaves_no_run_behind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no parameter is called 'nothing'"):
        train(tmp_path / "run", tiny("train.freeze=nothing"), Quiet())
    assert not (tmp_path / "run").exists()
