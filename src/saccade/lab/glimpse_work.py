"""A model that glimpses does the same work for a picture of any size; a convolutional network does more for a larger one.

Run it with `python -m saccade.lab.glimpse_work`: the claim of Mnih et al. 2014, section 1, in floating-point operations.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.view.charts.line_chart import Chart, Series, line_chart

if TYPE_CHECKING:  # torch is imported where it is used, so that --help does not wait for it
    from torch import nn

SIDES = (60, 100, 140, 180, 220)
GLIMPSING, CONVOLVING = "recurrent attention, 6 glimpses of 3 × 12 × 12", "convolutional network of the paper"


def operations(model: nn.Module, side: int) -> int:
    """Multiplications and additions for one picture of side × side pixels, as torch counts them."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from saccade.data.tensors import PictureInput

    logits: Any = model.eval().logits
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        logits(PictureInput(torch.zeros(1, 1, side, side)))
    return int(counter.get_total_flops())


def measured(sides: Sequence[int] = SIDES) -> dict[str, list[int]]:
    """Operations of both models for pictures of these sizes."""
    from saccade.systems import picture_network, ram

    glimpsing, convolving = ram.Config(num_scales=3, glimpse_size=12), picture_network.Config()
    return {
        GLIMPSING: [operations(ram.Model(glimpsing, 1, side, side, 10), side) for side in sides],
        CONVOLVING: [operations(picture_network.Model(convolving, 1, side, side, 10), side) for side in sides],
    }


def picture(found: dict[str, list[int]], sides: Sequence[int] = SIDES) -> str:
    """The operations over the size, as an SVG file."""
    series = [Series(name, [count / 1e6 for count in counts]) for name, counts in found.items()]
    bins, pixels = [f"{side} × {side}" for side in sides], [side * side for side in sides]
    across, up = "size of the picture, and its pixels", "millions of operations for one picture"
    note = "Operations of matrix products and convolutions, counted by torch; cutting out windows is not among them."
    return line_chart(Chart("Work for one picture", bins, pixels, series, across, up, note))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the operations, and draw them if asked to."""
    command = argparse.ArgumentParser(prog="python -m saccade.lab.glimpse_work", description=(__doc__ or "").splitlines()[0])
    command.add_argument("--svg", type=Path, metavar="PATH", help="also write the picture to this file")
    options = command.parse_args(arguments)
    found = measured()
    print(f"{'millions of operations, by size':48}" + "".join(f"{side:>8}" for side in SIDES))
    for name, counts in found.items():
        print(f"{name:48}" + "".join(f"{count / 1e6:8.2f}" for count in counts))
    if options.svg is not None:
        options.svg.write_text(picture(found), encoding="utf-8")


if __name__ == "__main__":
    main()
