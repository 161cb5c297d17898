"""Layer-wise learning rate decay: whose learning rate is which share, and that updates obey it."""

from pathlib import Path

import pytest
import torch
from torch import nn

from saccade.errors import UsageError
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.layer_rates import FACTOR, factors
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.train import train
from saccade.training.train_config import Config
from saccade.training.trainer import make_optimizer, parameter_groups

from ..systems.tiny import tiny as tiny_model
from . import small
from .runs import tiny_transformer

pytestmark = pytest.mark.usefixtures("put_back")


def test_shares_fall_toward_the_input() -> None:
    model = tiny_model("gpt2").model
    shares = factors(model, 0.5)
    assert len(model.layers) == 2
    expected = {"embedding": 0.25, "positions": 0.25, "layers.0": 0.5, "layers.1": 1.0, "norm": 1.0}
    for name, share in shares.items():
        assert share == next(value for part, value in expected.items() if name.startswith(part)), name


def test_a_reader_and_a_writer_count_their_own_layers() -> None:
    model = tiny_model("transformer", encoder_layers=3, decoder_layers=1).model
    shares = factors(model, 0.5)
    first = {name.rpartition(".mixer")[0] or name.partition(".")[0]: share for name, share in shares.items()}
    assert [first[f"encoder.{number}"] for number in range(3)] == [0.25, 0.5, 1.0]
    assert (first["decoder.0"], first["decoder_norm"], first["target_embedding"]) == (1.0, 1.0, 0.125)


def test_a_model_without_layers_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"train\.layer_decay: has no effect with this system, .* leave it out"):
        factors(tiny_model("bag_of_words").model, 0.5)
    settings = resolve(small.bag_of_words(tmp_path).table(), ["train.layer_decay=0.9"])
    with pytest.raises(UsageError, match=r"train\.layer_decay: has no effect"):
        train(tmp_path / "run", settings, Quiet())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_a_decay_is_a_share(value: float) -> None:
    with pytest.raises(UsageError, match=r"train\.layer_decay"):
        resolve({"system": "gpt2"}, [f"train.layer_decay={value}"])


def test_groups_are_as_before_where_it_is_off() -> None:
    """One group, or two, of all parameters in their order, without another key."""
    model = tiny_model("gpt2").model
    every = list(model.parameters())
    (group,) = parameter_groups(model, Config())
    assert group.keys() == {"params", "weight_decay"}
    assert all(one is other for one, other in zip(group["params"], every, strict=True))
    assert len(parameter_groups(model, Config(decay="matrices", weight_decay=0.1))) == 2


def test_groups_hold_every_trained_parameter_once() -> None:
    model = tiny_model("gpt2").model
    model.embedding.weight.requires_grad_(False)
    groups = parameter_groups(model, Config(decay="matrices", weight_decay=0.1, layer_decay=0.5))
    own = [one for group in groups for one in group["params"]]
    assert len(own) == len({*own}) == len(list(model.parameters())) - 1
    shares, names = factors(model, 0.5), {one: name for name, one in model.named_parameters()}
    for group in groups:
        assert {shares[names[one]] for one in group["params"]} == {group[FACTOR]}
        assert {group["weight_decay"]} == {0.1 if one.dim() >= 2 else 0.0 for one in group["params"]}


def test_updates_are_smaller_toward_the_input(tmp_path: Path) -> None:
    """Of plain SGD, a step is the share of what it is without: exactly, at a power of 2."""
    words = ("train.optimizer=sgd", "train.momentum=0", "train.steps=1", "train.clip=0", "train.warmup=0")
    moved = []
    for name, decay in (("whole", 1.0), ("less", 0.5)):
        settings = tiny_transformer(*words, f"train.layer_decay={decay}", "train.learning_rate=0.5")
        run = train(tmp_path / name, settings, Quiet())
        model: nn.Module = run.new_model(run.task())
        after = Checkpoints(run.path).load("last").tensors["model"]
        moved.append({name: after[name] - one for name, one in model.named_parameters()})
    shares = factors(model, 0.5)
    assert {*shares.values()} == {1.0, 0.5, 0.25}
    for name, share in shares.items():
        torch.testing.assert_close(moved[1][name], share * moved[0][name], rtol=1e-4, atol=1e-7)
    assert make_optimizer(model, Config(layer_decay=0.5)).param_groups[0]["params"]
