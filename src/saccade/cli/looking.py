"""saccade look: drawings of where a model looked, a report of its heads, and what changes without some of them."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from saccade import inputs
from saccade.cli.verbs import decoded, opened, opened_model, require_few
from saccade.errors import DataError, UsageError
from saccade.trained import TrainedModel
from saccade.view import head_report, shown
from saccade.view.output.saving import kind_of
from saccade.view.render import terminal
from saccade.writers.chances import HeadAblation

COUNT = 20  # heads that a table shows unless more are asked for


def look(
    path: Path,
    texts: Sequence[str],
    file: str | None,
    out: Sequence[Path],
    n_best: int,
    which: str | None,
    *,
    to: str | None,
    attention: str | None,
    layer: int | None,
    head: int | None,
    drawing: str | None,
    pixel: str | None,
    reading: bool,
    rollout: bool,
    flow: bool,
    heads: bool,
    sort: str | None,
    count: int | None,
    without: Sequence[str],
    machine: bool,
    width: int | None,
    color: bool | None,
    device: str,
) -> None:
    """Draw where the model looked for each text, in the terminal or into files; or tell of its heads."""
    heads = heads or sort is not None
    for target in out:
        kind_of(target, head_report.FILES if heads else shown.FILES)
    if count is not None and not heads:
        raise UsageError("--count: expected --heads, whose rows it counts; leave it out")
    if machine and not (heads or without):
        raise UsageError("--json: expected --heads or --without; a look is written by --out look.json")
    if not texts and file is None:
        raise UsageError("Missing argument TEXT: expected a text, or --file; see saccade look --help")
    given = [*texts, *_lines_of(file)] if file is not None else list(texts)
    if not all(text.strip() for text in given):
        raise DataError("there is nothing to look at: the text is empty")
    require_few(n_best)
    model = opened_model(path, which, device)
    given = [*model.task.reader.typed(texts), *given[len(texts) :]]
    if without and not heads:
        _tell(model.ablation(given, without, to=to), machine=machine)
        if not out:
            return
    with ExitStack() as closed:
        if without:
            closed.enter_context(model.without(*without))
        if heads:
            _report(model, given, to, sort, count, out, machine=machine, width=width)
            return
        drawn = model.look(given, n_best=n_best, to=to, reading=reading, rollout=rollout, flow=flow)
    if pixel is not None:
        drawn = shown.Shown(drawn.trace, attention).of_pixel(*_place(pixel))
    if layer is not None:
        attention = shown.Shown(drawn.trace, attention).of_layer(layer).look
    for target in out:
        for written in shown.Shown(drawn.trace, attention, head, drawing).save(target):
            print(written)
    for scene in drawn.scenes if not out else []:
        print(terminal(scene, look=attention, head=head, width=width, color=color, drawing=drawing), end="\n\n")
    names = drawn.looks
    if not out and attention is None and len(names) > 1:
        others = ", ".join(f'"{name}"' for name in names[1:])
        print(f"shown: {names[0]}; there are also {others} (--look NAME or --layer N, and --head N for one head)")


def _place(pixel: str) -> tuple[int, int]:
    """A row and a column as they are typed."""
    numbers = [part.strip() for part in pixel.split(",")]
    if len(numbers) != 2 or not all(part.isdecimal() for part in numbers):
        raise UsageError(f"--pixel: expected a row and a column such as 3,4, got {pixel!r}")
    return int(numbers[0]), int(numbers[1])


def _lines_of(file: str) -> list[str]:
    """The texts of a file, one a line; empty lines are no texts."""
    name = "standard input" if file == "-" else file
    with opened(file) as stream:
        lines = [line for line in decoded(inputs.lines(stream, name), name) if line.strip()]
    if not lines:
        raise DataError(f"{name}: expected a text on each line, got none")
    return lines


def _report(
    model: TrainedModel,
    texts: Sequence[str],
    to: str | None,
    sort: str | None,
    count: int | None,
    out: Sequence[Path],
    *,
    machine: bool,
    width: int | None,
) -> None:
    """The measures of all heads, as a table or as files."""
    report = model.heads(list(texts), to=to)
    if sort is not None:
        report = report.sorted(sort)
    for target in out:
        print(report.save(target, sort))
    if machine:
        print(report.json())
    elif not out:
        print(report.terminal(COUNT if count is None else count, width))


def _tell(made: Sequence[HeadAblation], *, machine: bool) -> None:
    """What was found, text after text."""
    if machine:
        print(json.dumps([one.table() for one in made], ensure_ascii=False))
    else:
        print("\n\n".join(map(str, made)))
