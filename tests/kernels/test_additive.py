"""The additive kernel equals its plain torch definition, from any thread, with or without Numba."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from saccade.kernels import additive_scores, kernels_on
from saccade.kernels.additive import gradients_definition, scores_definition

some_shapes = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 7, 64, 256, 300]))


def made(shape: tuple[int, ...], dtype: torch.dtype, strides: str) -> list[Tensor]:
    """Query, key, vector and a gradient for the scores, laid out in memory in one of three ways."""
    B, Q, K, D = shape
    sizes = ((B, Q, D), (B, K, D), (D,), (B, Q, K))
    tensors = [torch.randn(size, dtype=torch.float64).to(dtype) for size in sizes]
    if strides == "transposed":
        tensors = [t.mT.contiguous().mT if t.dim() == 3 else t for t in tensors]
    if strides == "skipping":
        tensors = [torch.stack((t, t), -1)[..., 0] for t in tensors]
    return tensors


def relative(one: Tensor, other: Tensor) -> float:
    """Largest difference, over the largest entry, or over 1 where all are smaller: sums of many terms may cancel."""
    return float((one.double() - other).abs().max() / other.abs().max().clamp(min=1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(some_shapes, st.sampled_from([torch.float32, torch.float64]), st.sampled_from(["plain", "transposed", "skipping"]))
def test_kernel_is_its_definition(shape: tuple[int, ...], dtype: torch.dtype, strides: str) -> None:
    query, key, vector, pull = made(shape, dtype, strides)
    exact = [t.double() for t in (query, key, vector)]
    leaves = [t.detach().requires_grad_() for t in (query, key, vector)]
    scores = additive_scores(*leaves)
    assert relative(scores.detach(), scores_definition(*exact)) < 1e-5
    found = torch.autograd.grad(scores, leaves, pull)
    for ours, theirs in zip(found, gradients_definition(pull.double(), *exact), strict=True):
        assert relative(ours, theirs) < 1e-5


def test_definition_in_blocks_is_broadcasting(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, vector, _ = made((2, 7, 5, 6), torch.float64, "plain")
    whole = torch.tanh(query[:, :, None] + key[:, None]) @ vector
    monkeypatch.setattr("saccade.kernels.additive.BLOCK_NUMBERS", 100)
    torch.testing.assert_close(scores_definition(query, key, vector), whole)
    leaves = tuple(t.requires_grad_() for t in (query, key, vector))
    assert torch.autograd.gradcheck(additive_scores, leaves)


def test_tanh_is_right_to_a_few_roundings() -> None:
    from saccade.kernels.loops.additive_loops import tanh

    x = np.concatenate([np.linspace(-12, 12, 500_001), np.geomspace(1e-30, 1, 10_001)]).astype(np.float32)
    out = np.empty_like(x)
    tanh(x, out)
    exact = np.tanh(x.astype(np.float64))
    roundings = np.abs(out - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert roundings.max() < 6
    assert abs(roundings.mean()) < 1


def test_torch_sees_an_operator() -> None:
    tensors = [t.requires_grad_() for t in made((2, 3, 4, 5), torch.float32, "plain")[:3]]
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(torch.ops.saccade.additive_scores.default, tuple(tensors), test_utils=tests, rtol=1e-4, atol=1e-4)


def test_compiled_models_see_an_operator() -> None:
    query, key, vector, _ = made((2, 3, 4, 5), torch.float32, "plain")
    compiled = torch.compile(additive_scores, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(query, key, vector), scores_definition(query, key, vector), atol=1e-5, rtol=1e-5)


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
@settings(max_examples=10, deadline=None, derandomize=True)
@given(some_shapes)
def test_threads_change_nothing(shape: tuple[int, ...]) -> None:
    query, key, vector, pull = made(shape, torch.float32, "plain")
    leaves = [t.requires_grad_() for t in (query, key, vector)]
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        scores = additive_scores(*leaves)
        results.append([scores, *torch.autograd.grad(scores, leaves[:2], pull)])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


@pytest.mark.usefixtures("_two_threads")
def test_four_threads_at_once() -> None:
    """Each thread gets its own right answer, forward and backward, many times over."""
    inputs = [made((4, 5 + n, 6, 300), torch.float32, "plain") for n in range(4)]
    wrong: list[float] = []

    def work(query: Tensor, key: Tensor, vector: Tensor, pull: Tensor) -> None:
        exact = [t.double() for t in (query, key, vector)]
        wanted = [scores_definition(*exact), *gradients_definition(pull.double(), *exact)]
        leaves = [t.requires_grad_() for t in (query, key, vector)]
        for _ in range(50):
            scores = additive_scores(*leaves)
            found = [scores.detach(), *torch.autograd.grad(scores, leaves, pull)]
            wrong.extend(error for pair in zip(found, wanted, strict=True) if not (error := relative(*pair)) < 1e-5)

    threads = [threading.Thread(target=work, args=tensors) for tensors in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def run(code: str, **environment: str) -> str:
    """Run code in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


USE = """
import torch
from saccade.attention import Additive, attend
torch.set_num_threads(2)
torch.manual_seed(0)
x = torch.randn(2, 5, 8, requires_grad=True)
context = attend(x, x, x, score=Additive(8, 8)).context
context.sum().backward()
"""


@pytest.mark.long
def test_switched_off_nothing_is_compiled_and_the_result_is_the_same() -> None:
    tell = USE + "import sys; print('numba' in sys.modules, round(float(context.sum()), 4), round(float(x.grad.sum()), 4))"
    on, off = run(tell).split(), run(tell, SACCADE_KERNELS="off").split()
    assert (on[0], off[0]) == ("True", "False")
    assert [float(a) for a in on[1:]] == pytest.approx([float(b) for b in off[1:]], abs=2e-4)


@pytest.mark.long
def test_compiled_code_is_kept_on_disk(tmp_path: Path) -> None:
    run(USE, NUMBA_CACHE_DIR=str(tmp_path))
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert len(kept) >= 2
    run(USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == kept


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_process_goes_on_without_kernels() -> None:
    """GNU OpenMP would kill it; the plain form answers instead."""
    told = run(
        USE
        + """
import os
torch.set_num_threads(1)
child = os.fork()
if child == 0:
    again = attend(x, x, x, score=Additive(8, 8)).context
    os._exit(0 if again.isfinite().all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert told == "0"


def test_spawned_processes_have_kernels() -> None:
    code = USE + "from saccade.kernels import kernels_on; print(kernels_on(x))"
    assert run(code) == "True"


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_words_that_switch_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels_on(torch.zeros(1))
    assert not kernels_on(torch.zeros(1, dtype=torch.float64))
    monkeypatch.setenv("SACCADE_KERNELS", word)
    assert not kernels_on(torch.zeros(1))


def test_a_work_queue_takes_one_call_at_a_time() -> None:
    """Where OpenMP is missing Numba's work queue runs, which aborts on two calls at once: they are put in line."""
    code = """
import threading, torch
torch.set_num_threads(2)
import saccade.kernels.loops.jit as jit
jit.config.THREADING_LAYER = "workqueue"
from saccade.kernels import additive_scores
from saccade.kernels.additive import scores_definition
q, k, v = torch.randn(4, 9, 300), torch.randn(4, 9, 300), torch.randn(300)
wanted = scores_definition(q, k, v)
good = []
def work():
    for _ in range(30):
        good.append(torch.allclose(additive_scores(q, k, v), wanted, atol=1e-4))
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(jit.thread_layer(), len(good), all(good))
"""
    assert run(code) == "workqueue 120 True"
