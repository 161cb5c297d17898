"""Checkpoints keep what they were given: all types, ties, the newest few and the best, and say no in one line."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from saccade.errors import DataError, SaccadeError, UsageError
from saccade.training.checkpoints.store import Checkpoints
from tests.training.checkpoints.saves import equal, hidden, is_whole, save, tensors_of

DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2),
]


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "run")


def refusal(kind: type[SaccadeError], checkpoints: Checkpoints, tensors: Any, state: Any = None) -> str:
    """The one line with which this is refused; nothing is written."""
    with pytest.raises(kind) as raised:
        checkpoints.save(7, tensors, {} if state is None else state)
    assert checkpoints.steps() == []
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_what_is_saved_comes_back(checkpoints: Checkpoints) -> None:
    path = save(checkpoints, 500)
    found = checkpoints.load()
    assert is_whole(found)
    assert (found.step, found.path, found.passed_over) == (500, path, [])
    assert path == checkpoints.run / "checkpoints" / "step-00000500"
    assert {file.name for file in path.iterdir()} == {
        *("model.safetensors", "optimizer.safetensors", "random.safetensors", "state.json", "MANIFEST.json"),
    }
    assert (checkpoints.folder / "LAST").read_text().split()[0] == path.name
    assert hidden(checkpoints) == []


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_of_number(checkpoints: Checkpoints, dtype: torch.dtype) -> None:
    whole = torch.randint(0, 2, (3, 5)).to(dtype)
    given = {"model": {"matrix": whole, "scalar": whole[0, 0].clone(), "empty": whole[:0], "slice": whole[1:, ::2]}}
    checkpoints.save(1, given, {})
    found = checkpoints.load().tensors["model"]
    for name, tensor in given["model"].items():
        assert found[name].dtype == dtype
        assert found[name].shape == tensor.shape
        assert torch.equal(found[name].to(torch.complex64), tensor.to(torch.complex64))


def test_views_are_stored_as_what_they_show(checkpoints: Checkpoints) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    conjugate = torch.randn(3, dtype=torch.complex64).conj()
    views = {"base": base, "turned": base.T, "part": base[1:], "wide": base[:1].expand(5, 4), "negative": conjugate.imag}
    given = {"model": {**views, "conjugate": conjugate, "parameter": torch.nn.Parameter(base * 2)}}
    checkpoints.save(1, given, {})
    found = checkpoints.load().tensors
    assert equal(found, given)
    assert not found["model"]["parameter"].requires_grad


def test_tied_weights_are_stored_once_and_tied_again(checkpoints: Checkpoints) -> None:
    weight = torch.randn(100, 100)
    checkpoints.save(1, {"model": {"embedding": weight, "output": weight, "other": weight.clone()}}, {})
    model = checkpoints.load().tensors["model"]
    assert model["embedding"].data_ptr() == model["output"].data_ptr() != model["other"].data_ptr()
    assert torch.equal(model["output"], weight)
    assert (checkpoints.folder / "step-00000001" / "model.safetensors").stat().st_size < 2.1 * weight.nbytes


def test_empty_tensors_are_not_tied(checkpoints: Checkpoints) -> None:
    given = {"model": {"a": torch.empty(0), "b": torch.empty(0, 3)}, "optimizer": {}}
    checkpoints.save(0, given, {})
    assert equal(checkpoints.load().tensors, given)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.complex64, torch.float8_e5m2])
def test_numbers_that_are_not_finite_are_refused_by_name(checkpoints: Checkpoints, value: float, dtype: torch.dtype) -> None:
    bad = torch.ones(4, 4)
    bad[2, 3] = value
    text = refusal(SaccadeError, checkpoints, {"model": {"good": torch.ones(2)}, "optimizer": {"moment": bad.to(dtype)}})
    assert "optimizer" in text
    assert "'moment'" in text


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"../model": {}}, "'../model'"),
        ({"Model": {}}, "'Model'"),
        ({"model": {"__metadata__": torch.ones(1)}}, "'__metadata__'"),
        ({"model": {3: torch.ones(1)}}, "3"),
        ({"model": {"w": torch.ones(2).to_sparse()}}, "'w'"),
        ({"model": {"w": torch.ones(2, device="meta")}}, "'w'"),
        ({"model": {"w": [1.0]}}, "list"),
        ({"model": {"w": torch.ones(2, dtype=torch.complex128)}}, "complex64"),
    ],
)
def test_what_cannot_be_stored_is_refused(checkpoints: Checkpoints, tensors: Any, words: str) -> None:
    assert words in refusal(SaccadeError, checkpoints, tensors)


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


def test_newest_and_best_are_kept(checkpoints: Checkpoints) -> None:
    for step in range(1, 9):
        save(checkpoints, step, best=step in (1, 2))
        assert len(checkpoints.steps()) <= 4
    assert checkpoints.steps() == [2, 6, 7, 8]
    assert is_whole(checkpoints.load("best"))
    assert checkpoints.load("best").step == 2
    assert checkpoints.load(7).step == 7
    assert hidden(checkpoints) == []


def test_best_is_kept_though_nothing_names_it(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1, best=True)
    (checkpoints.folder / "BEST").unlink()  # as after a kill just before it was written
    for step in range(2, 7):
        save(checkpoints, step)
    assert checkpoints.load("best").step == 1


def test_same_step_again_replaces(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1, best=True)
    save(checkpoints, 2)
    save(checkpoints, 2, variant=5)
    found = checkpoints.load()
    assert is_whole(found)
    assert found.state["variant"] == 5
    assert (checkpoints.steps(), hidden(checkpoints)) == ([1, 2], [])


@pytest.mark.parametrize("keep", [1, 2])
def test_going_back_makes_the_earlier_step_the_newest(tmp_path: Path, keep: int) -> None:
    checkpoints = Checkpoints(tmp_path, keep=keep)
    for step in (100, 200, 300):
        save(checkpoints, step)
    save(checkpoints, 150, variant=1)
    assert checkpoints.load().step == 150
    save(checkpoints, 160, variant=1)
    assert checkpoints.load().step == 160
    assert checkpoints.steps() == [150, 160][-keep:]


def test_long_runs_stay_in_order(checkpoints: Checkpoints) -> None:
    for step in (99_999_999, 100_000_000):
        save(checkpoints, step)
    assert checkpoints.load().step == 100_000_000
    assert checkpoints.steps() == [99_999_999, 100_000_000]


def test_manifest_tells_where_it_came_from(checkpoints: Checkpoints) -> None:
    manifest = json.loads((save(checkpoints, 3) / "MANIFEST.json").read_text())["content"]
    assert manifest["versions"]["torch"] == torch.__version__
    assert (manifest["step"], manifest["threads"]) == (3, torch.get_num_threads())


@pytest.mark.parametrize("which", ["last", "best", 3])
def test_nothing_there(tmp_path: Path, which: Any) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty" / "checkpoints").mkdir(parents=True)
    for run in ("none", "file", "empty"):
        with pytest.raises(DataError, match=f"^no checkpoint in {tmp_path / run}; "):
            Checkpoints(tmp_path / run).load(which)
        assert Checkpoints(tmp_path / run).steps() == []
        Checkpoints(tmp_path / run).sweep()


def test_wrong_step_names_those_there(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    save(checkpoints, 2)
    with pytest.raises(DataError, match=r"^no checkpoint of step 3 in .*; there are 1, 2$"):
        checkpoints.load(3)
    with pytest.raises(DataError, match=r"^no best checkpoint in "):
        checkpoints.load("best")


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keep must be at least 1, got 0"):
        Checkpoints(tmp_path, keep=0)
    with pytest.raises(UsageError, match="step must be 0 or more, got -1"):
        save(Checkpoints(tmp_path), -1)


def test_too_little_space_is_told_before_anything_is_written(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(checkpoints, 1)
    size = sum(file.stat().st_size for file in folder.iterdir() if file.name != "MANIFEST.json")
    free = 2 * size - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(SaccadeError, match=r"^not enough space in .*: [\d.]+ kB needed .*, [\d.]+ kB there; free"):
        save(checkpoints, 1)
    assert (checkpoints.steps(), hidden(checkpoints)) == ([1], [])
    free += 1
    save(checkpoints, 1)


def test_saving_does_not_change_or_hold_what_is_given(checkpoints: Checkpoints) -> None:
    given = tensors_of(1)
    checkpoints.save(1, given, {"variant": 0})
    given["model"]["embedding"].zero_()
    assert equal(checkpoints.load().tensors, tensors_of(1))
    checkpoints.load().tensors["model"]["embedding"].zero_()
    assert equal(checkpoints.load().tensors, tensors_of(1))
