"""Tensors that a file has joined or transposed: taken apart, and put together again."""

import pytest
import torch

from saccade.exchange.layouts import PLAIN, TensorLayout, layout_of, stored_tensors

LAYOUTS = {
    ".b.weight": TensorLayout(1, 2, transposed=True),
    ".a.weight": TensorLayout(0, 2, transposed=True),
    ".c": TensorLayout(transposed=True),
}


def test_what_is_stored_is_taken_again() -> None:
    ours = {f"x.{name}": torch.randn(3, 4) for name in ("b.weight", "a.weight", "c", "d")}
    theirs = stored_tensors(ours, LAYOUTS, lambda name: "joint" if name.endswith("weight") else name.upper())
    assert {name: tuple(tensor.shape) for name, tensor in theirs.items()} == {"joint": (4, 6), "X.C": (4, 3), "X.D": (3, 4)}
    assert torch.equal(theirs["joint"], torch.cat((ours["x.a.weight"], ours["x.b.weight"])).t())
    for name, tensor in ours.items():
        layout = layout_of(LAYOUTS, name)
        stored = theirs["joint" if name.endswith("weight") else name.upper()]
        assert torch.equal(layout.taken(stored), tensor)
        assert layout.stored_shape(tuple(tensor.shape)) == tuple(stored.shape)
        assert stored.is_contiguous()


@pytest.mark.parametrize(("name", "layout"), [("x.c", LAYOUTS[".c"]), ("x.cc", PLAIN), ("x.c.bias", PLAIN)])
def test_a_layout_is_found_by_the_end_of_a_name(name: str, layout: TensorLayout) -> None:
    assert layout_of(LAYOUTS, name) is layout
