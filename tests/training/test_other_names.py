"""Names of other toolkits lead to keys that exist."""

import pytest

from saccade import systems
from saccade.training.other_names import ABSENT, OTHERS, meant, plain, valued
from saccade.training.settings import base, keys, kinds, resolve

# What the first hour of a user of other toolkits is full of; each must be answered.
TYPED = """
lr learning-rate bs batch num_epochs max_epochs num_train_epochs fp16 bf16 gpus devices warmup_steps wd max_steps hidden
d_model n_layers num_heads nhead dropout_rate clip_grad_norm max_grad_norm eval_steps save_steps logging_steps
label-smoothing beam_size num_beams max_len vocab_size optim scheduler patience
"""


def test_our_keys_exist() -> None:
    every = {key for name in systems.names() for key in keys(kinds(name, resolve(base(name)).dataset))}
    assert {*OTHERS} <= every | {"data.name"}
    ours = {key.partition(".")[2] for key in every}
    assert not ours & {*ABSENT}
    assert not {name for name in ABSENT if meant(name)}


@pytest.mark.parametrize("name", TYPED.split())
def test_what_people_type_is_answered(name: str) -> None:
    assert bool(meant(name)) != (plain(name) in ABSENT)


def test_names_are_looked_up_as_they_are_typed() -> None:
    assert meant("--Learning-Rate") == meant("lr") == ["train.learning_rate"]
    assert meant("num_layers") == ["model.num_layers", "model.encoder_layers"]
    assert meant("xyzzy") == []


@pytest.mark.parametrize(
    ("name", "typed", "ours"),
    [("fp16", "true", "fp16"), ("bf16", "True", "bf16"), ("amp", "1", "auto"), ("fp16", "false", "float32")],
)
def test_what_is_on_or_off_elsewhere_is_a_precision_here(name: str, typed: str, ours: str) -> None:
    assert valued(name, typed) == ours


def test_other_values_stay() -> None:
    assert (valued("dtype", "bf16"), valued("lr", "1")) == ("bf16", "1")
