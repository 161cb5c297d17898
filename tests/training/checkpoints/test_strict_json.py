"""JSON that comes back exactly or is refused; a sealed document is read only if it is what was sealed."""

from typing import Any

import pytest
import torch

from saccade.errors import SaccadeError
from saccade.training.checkpoints import strict_json
from saccade.training.checkpoints.store import Checkpoints

from .saves import refusal


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 0


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"best": float("inf")}, "state.best is inf"),
        ({"a": [0, {"b": float("nan")}]}, "state.a[1].b"),
        ({"a": {1: 2}}, "key 1"),
        ({"a": torch.ones(1)}, "state.a is a Tensor"),
        ({"a": {2}}, "state.a is a set"),
        ({"a": nested(40)}, "deep"),
        ({"a": 10**2000}, "state.a"),
    ],
)
def test_state_that_json_would_lose_is_refused_by_place(checkpoints: Checkpoints, state: Any, words: str) -> None:
    assert words in refusal(SaccadeError, checkpoints, {}, state)


def test_state_comes_back_exactly(checkpoints: Checkpoints) -> None:
    state = {
        "deep": nested(31),
        "large": 2**128 - 1,
        "small": 5e-324,
        "third": 1 / 3,
        "text": '"[{\\\x00\ud800',
        "none": None,
    }
    checkpoints.save(0, {}, state)
    assert checkpoints.load().state == state


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b"[NaN]", "a number is not finite"),
        (b"[1e999]", "a number is not finite"),
        (b"[" * 40 + b"]" * 40, "nested more than 32 deep"),
        (b"\xff", "utf-8"),
        (b"{", "Expecting"),
    ],
)
def test_what_is_not_of_ours_is_refused_in_a_few_words(data: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        strict_json.decode(data)


def test_brackets_in_texts_do_not_count() -> None:
    value = {"a": "[" * 50 + '\\"{'}
    assert strict_json.decode(strict_json.encode(value, "state")) == value


def test_a_sealed_document_is_whole_or_refused() -> None:
    body = strict_json.encode({"step": 3}, "manifest")
    data = strict_json.seal(body)
    assert strict_json.unseal(data) == body
    assert strict_json.decode(data)["content"] == {"step": 3}
    for place in range(len(data)):
        with pytest.raises(ValueError, match="does not match its own checksum"):
            strict_json.unseal(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
