"""What a retina sees along a path of six glimpses: beside F.grid_sample, and slices of each picture in a loop.

python benchmarks/glimpses.py            all cases
python benchmarks/glimpses.py --quick    at most a minute

All give the same windows of all scales, which is checked. *grid_sample* takes every pixel of a window (nearest) and averages
them; *grid_sample, points* only as many points as the glimpse has (bilinear): less work, but no average, so that thin
strokes come and go. *loop* pads each batch and cuts the windows out picture by picture, as the ports of the paper do;
*unfold* takes them from the view of all windows of each picture, picture by picture.
"""

from typing import NamedTuple

import torch
from kit import Report, Run, arguments, interleave
from torch import Tensor
from torch.nn import functional as F

from saccade.layers.retina import Retina, middles


class Case(NamedTuple):
    """A batch of pictures, and what is seen of each."""

    pictures: int
    side: int
    size: int
    scales: int

    def __str__(self) -> str:
        return f"{self.pictures} of {self.side} × {self.side}, {self.scales} of {self.size} × {self.size}"


CASES = (Case(256, 28, 8, 1), Case(128, 60, 12, 3), Case(128, 100, 12, 3))
GLIMPSES = 6


def ours(images: Tensor, path: list[Tensor], case: Case) -> list[Tensor]:
    retina, samples = Retina(case.size, case.scales), torch.arange(len(images))
    return [retina(images, samples, location) for location in path]


def grid_sample(images: Tensor, path: list[Tensor], case: Case) -> list[Tensor]:
    return [_sampled(images, location, case, points=False) for location in path]


def few_points(images: Tensor, path: list[Tensor], case: Case) -> list[Tensor]:
    return [_sampled(images, location, case, points=True) for location in path]


def _sampled(images: Tensor, location: Tensor, case: Case, *, points: bool) -> Tensor:
    """The windows of one glimpse; a grid's coordinates are (column, row), and its pixels' middles are at odd halves."""
    at, windows = middles(location, case.side, case.side), []
    for scale in range(case.scales):
        reach = case.size << scale
        count = case.size if points else reach
        steps = (torch.arange(count) + 0.5) * (reach / count) - reach // 2
        rows, columns = ((part[:, None] + steps) * (2 / case.side) - 1 for part in at.unbind(-1))
        shape = (len(images), count, count)
        grid = torch.stack((columns[:, None, :].expand(shape), rows[:, :, None].expand(shape)), -1)
        mode = "bilinear" if points else "nearest"
        window = F.grid_sample(images, grid, mode=mode, align_corners=False)
        windows.append(window if points or not scale else F.avg_pool2d(window, 1 << scale))
    return torch.cat(windows, 1)


def loop(images: Tensor, path: list[Tensor], case: Case) -> list[Tensor]:
    found = []
    for location in path:
        at, windows = middles(location, case.side, case.side), []
        for scale in range(case.scales):
            reach = case.size << scale
            padded = F.pad(images, (reach // 2, reach - reach // 2) * 2)
            cut = [one[:, row : row + reach, column : column + reach] for one, (row, column) in zip(padded, at, strict=True)]
            window = torch.stack(cut)
            windows.append(F.avg_pool2d(window, 1 << scale) if scale else window)
        found.append(torch.cat(windows, 1))
    return found


def unfold(images: Tensor, path: list[Tensor], case: Case) -> list[Tensor]:
    found = []
    for location in path:
        at, windows = middles(location, case.side, case.side), []
        for scale in range(case.scales):
            reach = case.size << scale
            padded = F.pad(images, (reach // 2, reach - reach // 2) * 2)
            every = padded.unfold(2, reach, 1).unfold(3, reach, 1)
            window = torch.stack([one[:, row, column] for one, (row, column) in zip(every, at.tolist(), strict=True)])
            windows.append(F.avg_pool2d(window, 1 << scale) if scale else window)
        found.append(torch.cat(windows, 1))
    return found


PEERS = {"grid_sample": grid_sample, "grid_sample, points": few_points, "loop": loop, "unfold": unfold}


def measure(report: Report, case: Case, rounds: int) -> None:
    """One case: everybody in turn, on the same pictures and paths."""
    torch.manual_seed(0)
    images = torch.rand(case.pictures, 1, case.side, case.side)
    path = [torch.rand(case.pictures, 2) * 2 - 1 for _ in range(GLIMPSES)]
    expected = ours(images, path, case)
    runs: dict[str, Run] = {"ours": lambda: ours(images, path, case)}
    for name, peer in PEERS.items():
        runs[name] = lambda peer=peer: peer(images, path, case)  # type: ignore[misc]
        if peer is not few_points:
            for found, seen in zip(peer(images, path, case), expected, strict=True):
                torch.testing.assert_close(found, seen)
    report.case(str(case), interleave(runs, rounds, 0.1))


def main() -> None:
    options = arguments("Windows of all scales along a path, beside F.grid_sample and loops.")
    torch.set_num_threads(options.threads)
    report = Report()
    with torch.inference_mode():
        for case in CASES:
            measure(report, case, 5 if options.quick else 25)
    report.close(options.json)


if __name__ == "__main__":
    main()
