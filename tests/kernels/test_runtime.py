"""Kernels are on where they can run, and nowhere else; each is found by its name, and compiling is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

from saccade.attention import attend, causal, lengths
from saccade.kernels import kernels_on
from saccade.kernels.runtime import KERNELS, compiled, told_of_compiling
from saccade.layers.multihead import MultiHeadAttention
from tests.kernels.traced import MODULES


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 4, 32, generator=torch.Generator().manual_seed(0))


def test_dynamo_traces_what_kernels_would_compute() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.kernels.traced"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert dict(line.split("\t") for line in told.splitlines()) == dict.fromkeys(MODULES, "well")


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch calls it itself, at the first transform
@pytest.mark.parametrize("name", MODULES)
def test_function_transforms(name: str, x: Tensor) -> None:
    module = MODULES[name]()
    taken = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(module(taken).square().sum(), taken)
    found = torch.func.grad(lambda x: module(x).square().sum())(x)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    along = torch.func.jvp(module, (x,), (torch.ones_like(x),))[1]
    shifted = (module(x + 1e-3) - module(x - 1e-3)) / 2e-3
    torch.testing.assert_close(along, shifted, atol=2e-2, rtol=2e-2)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.parametrize("mask", [None, causal(), lengths(torch.tensor([3]))])
def test_a_map_over_samples(mask: object, x: Tensor) -> None:
    layer = MultiHeadAttention(32, 2)
    found = torch.func.vmap(lambda one: layer(one[None], mask=mask)[0])(x)
    expected = torch.cat([layer(one[None], mask=mask) for one in x])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_fake_tensors_have_shapes() -> None:
    with FakeTensorMode():
        x = torch.randn(2, 4, 5, 16)
        assert attend(x, x, x).context.shape == (2, 4, 5, 16)
        assert attend(x, x, x, mask=causal()).context.shape == (2, 4, 5, 16)
        assert MultiHeadAttention(32, 2)(torch.randn(2, 4, 32)).shape == (2, 4, 32)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_forward_gradients(x: Tensor) -> None:
    layer = MultiHeadAttention(32, 2)
    with forward_ad.dual_level():
        _, along = forward_ad.unpack_dual(layer(forward_ad.make_dual(x, torch.ones_like(x))))
    assert along is not None
    torch.testing.assert_close(along, (layer(x + 1e-3) - layer(x - 1e-3)) / 2e-3, atol=2e-2, rtol=2e-2)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_kernels_are_off_while_torch_traces(x: Tensor) -> None:
    assert kernels_on(x)
    assert not kernels_on(x.double())
    seen: list[bool] = []

    def total(x: Tensor) -> Tensor:
        seen.append(kernels_on(x))
        return x.sum()

    torch.func.grad(total)(x)
    with FakeTensorMode():
        seen.append(kernels_on(torch.zeros(1)))
    with forward_ad.dual_level():
        seen.append(kernels_on(x))
    assert seen == [False, False, False]


def test_every_kernel_has_a_home() -> None:
    import saccade.kernels

    folder = Path(saccade.kernels.__file__).parent
    written = {
        (path.stem, line.removeprefix("def ").partition("(")[0])
        for path in folder.glob("loops/*_loops.py")
        for before, line in zip(path.read_text().splitlines(), path.read_text().splitlines()[1:], strict=False)
        if before.startswith("@kernel")
    }
    assert written == {(home, name) for home, names in KERNELS.items() for name in names}
    assert all(callable(compiled(name)) for names in KERNELS.values() for name in names)


def test_only_what_is_needed_is_compiled_and_it_is_told(tmp_path: Path) -> None:
    code = """
import sys, torch
torch.set_num_threads(1)
from saccade.kernels.recurrent_cells import CELLS, step
from saccade.kernels.runtime import told_of_compiling
told = []
with told_of_compiling(lambda name, seconds: told.append((name, seconds is None or seconds > 0))):
    step(CELLS["gru"], torch.randn(2, 12), torch.randn(2, 12), torch.randn(2, 4))
step(CELLS["gru"], torch.randn(2, 12), torch.randn(2, 12), torch.randn(2, 4))
print(told, sorted(name for name in sys.modules if name.startswith("saccade.kernels.") and name.endswith("_loops")))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    answers = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    needed = "['saccade.kernels.loops.additive_loops', 'saccade.kernels.loops.cell_loops']"
    assert answers[0].strip() == f"[('gru_forward', True), ('gru_forward', True)] {needed}"
    assert answers[1].strip() == f"[] {needed}"  # the second time it is found in the cache


def test_who_no_longer_listens_is_not_told() -> None:
    told: list[str] = []
    with told_of_compiling(lambda name, seconds: told.append(name)):
        pass
    from saccade.kernels import runtime

    assert runtime._listeners == []
