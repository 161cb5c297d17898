"""Loss and metrics of runs over steps, tokens or time, from their logs; without torch, also while they are trained."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from saccade.errors import UnknownName, UsageError
from saccade.evaluation.metrics import METRICS
from saccade.training.checkpoints.names import FRESH, SWAP
from saccade.training.journal import entries, seconds_of
from saccade.training.run_list import CONFIG, LOG, run_list
from saccade.view.charts.panels import Curve, Panel, Panels, smoothed
from saccade.view.charts.run_plot import RunPlot
from saccade.view.output.scales import Floats

Over = Literal["steps", "tokens", "time"]
AXES = {"steps": "steps", "tokens": "target tokens", "time": "minutes of training"}
LOSS = "loss"
NOT_DRAWN = ("event", "step", "time", "ranks", "best", "scores", "changes")
# Keys that decide nothing of what a run learns, and what a run is called by already.
UNTOLD = ("train.log_every", "train.save_every", "train.keep", "train.device", "train.threads", "train.tensorboard",
          "train.measure_peak", "train.prefetch", "train.timeout", "start")  # fmt: skip
FIRST = ("system", "data.name")
MOST = 3  # settings that a legend tells
LETTERS_OF_VALUE = 24


@dataclass(frozen=True)
class RunHistory:
    """The log of a run, and its settings."""

    path: Path
    settings: Mapping[str, Any]
    lines: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "RunHistory":
        """That of a run, or of a new one that grows in its directory and has no earlier one beside it."""
        place = next((one for one in (path / SWAP, path, path / FRESH) if (one / LOG).is_file()), None)
        if place is None:
            raise UsageError(f"{path}: {_missing(path)}")
        lines = entries(place / LOG)
        if not any("loss" in line or "scores" in line for line in lines):
            raise UsageError(f"{path}: nothing is in its {LOG} yet; wait for the first line (train.log_every steps)")
        return cls(path, _settings(place / CONFIG), lines)

    @property
    def chosen(self) -> str:
        """The metric that its best checkpoint is chosen by."""
        scores: Mapping[str, float] = next((line["scores"]["all"] for line in self.lines if "scores" in line), {})
        return next(
            (name for name in (self.settings.get("writer.metric"), *scores) if name in METRICS and name in scores), ""
        )

    @cached_property
    def steps(self) -> list[Mapping[str, Any]]:
        """Lines of updates."""
        return [line for line in self.lines if line.get("event") in ("step", "skipped")]

    def names(self) -> set[str]:
        """What can be drawn of it."""
        found = {name for line in self.steps for name in line if name not in NOT_DRAWN}
        for line in self.lines:
            for group, part in line.get("scores", {}).items():
                found |= {name if group == "all" else f"{name}/{group}" for name in part if name != "examples"}
        return found

    def place(self, over: Over) -> Floats:
        """Where each of its updates is on the axis."""
        if over == "steps":
            return np.array([line["step"] for line in self.steps], dtype=np.float64)
        if over == "tokens":
            return np.array([line["tokens"] for line in self.steps], dtype=np.float64)
        return np.cumsum(seconds_of(self.steps)) / 60

    def trained(self, name: str, over: Over) -> tuple[Floats, Floats]:
        """Numbers of the updates that were logged."""
        kept = [number for number, line in enumerate(self.steps) if name in line]
        return self.place(over)[kept], np.array([float(self.steps[number][name]) for number in kept])

    def validated(self, name: str, over: Over) -> tuple[Floats, Floats]:
        """Numbers of the validations, each where its step is; `name/group` is of one group."""
        metric, _, group = name.partition("/")
        rows = [line for line in self.lines if metric in line.get("scores", {}).get(group or "all", {})]
        steps = np.array([line["step"] for line in rows], dtype=np.float64)
        if over != "steps" and self.steps:
            steps = np.interp(steps, self.place("steps"), self.place(over))
        return steps, np.array([float(line["scores"][group or "all"][metric]) for line in rows])

    def skipped(self, over: Over) -> list[float]:
        """Where updates were skipped."""
        places = zip(self.place(over).tolist(), self.steps, strict=True)
        return [place for place, line in places if line["event"] == "skipped"]


def plot(
    *runs: str | Path,
    metric: str | Sequence[str] = (),
    over: Over = "steps",
    smooth: int = 1,
    log: bool = False,
) -> RunPlot:
    """Draw loss and metrics of runs: saccade.plot("runs/a", "runs/b"). It prints itself, and `save` writes a file.

    `metric`: what to draw instead of the loss and the metric that each best checkpoint is chosen by; any number of the log
    or of its validations, `name/group` for one group. `over`: steps, tokens or time. `smooth`: a mean over so many lines of
    the log. `log`: heights by their logarithms.
    """
    if not runs:
        raise UsageError('expected a run or more, such as saccade.plot("runs/dates")')
    if over not in get_args(Over):
        raise UnknownName("axis", over, get_args(Over))
    if smooth < 1:
        raise UsageError(f"smooth: expected 1 or more lines of the log, got {smooth}")
    histories = [RunHistory.read(Path(run)) for run in runs]
    asked = [metric] if isinstance(metric, str) else list(metric)
    wanted = asked or list(dict.fromkeys([LOSS, *(one.chosen for one in histories)]))
    panels = [_panel(histories, name, over, smooth, log) for name in wanted if name]
    title = str(runs[0]) if len(runs) == 1 else f"{len(runs)} runs"
    return RunPlot(Panels(title, legend(histories), panels, AXES[over], counted=over != "time"))


def _panel(histories: Sequence[RunHistory], name: str, over: Over, smooth: int, log: bool) -> Panel:
    """What all runs have of one quantity: lines of updates, dotted lines of validations."""
    if not any(name in one.names() for one in histories):
        raise UnknownName("metric", name, set().union(*(one.names() for one in histories)))
    known = METRICS.get(name.partition("/")[0])
    factor = known.scale if known else 1.0
    curves, both = [], set()
    for number, one in enumerate(histories):
        for dotted, (x, y) in ((False, one.trained(name, over)), (True, one.validated(name, over))):
            if len(x):
                flat, raw = (y, None) if dotted or smooth == 1 else (smoothed(y, smooth), y * factor)
                curves.append(Curve(number, x, flat * factor, dotted, raw))
                both.add(dotted)
    skipped = [(number, place) for number, one in enumerate(histories) for place in one.skipped(over)]
    return Panel(_title(name, both), curves, skipped if False in both else (), log)


def _title(name: str, kinds: set[bool]) -> str:
    """What a panel shows, and how training and validation are told apart where both are in it."""
    metric, _, group = name.partition("/")
    known = METRICS.get(metric)
    label = known.label + (f" ({known.unit})" if known.unit else "") if known else metric.replace("_", " ")
    label += f" of {group}" if group else ""
    if kinds == {False, True}:
        return f"{label}: training (line), validation (points)"
    return f"{label}, validation" if True in kinds else f"{label}, training"


def legend(histories: Sequence[RunHistory]) -> list[str]:
    """The names of runs, with the settings in which they differ."""
    if len(histories) == 1:
        return [str(histories[0].path)]
    common = [key for key in histories[0].settings if all(key in one.settings for one in histories)]
    values = {key: len({str(one.settings[key]) for one in histories}) for key in common if key not in UNTOLD}
    differing = [key for key in values if values[key] > 1]
    told = sorted(differing, key=lambda key: (key not in FIRST, -values[key], key == "train.steps"))[:MOST]
    return [_named(one, told) for one in histories]


def _named(history: RunHistory, keys: Sequence[str]) -> str:
    values = [_setting(key, history.settings[key]) for key in keys]
    return f"{history.path} ({', '.join(values)})" if values else str(history.path)


def _setting(key: str, value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if key in ("system", "data.name"):
        return text
    return f"{key.partition('.')[2] or key}={text[:LETTERS_OF_VALUE]}"


def _settings(path: Path) -> dict[str, Any]:
    """Every key of a config, as it is typed; none where it cannot be read."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat.update({f"{key}.{inner}": v for inner, v in value.items()} if isinstance(value, dict) else {key: value})
    return flat


def _missing(path: Path) -> str:
    """Why there is nothing to draw, and what there is instead."""
    if (path / CONFIG).is_file():
        return f"has no {LOG}: it was never trained here"
    what = "not a run" if path.is_dir() else "no such directory" if not path.exists() else "expected a directory, got a file"
    near = path if path.is_dir() else path.parent
    known = [one.path for folder in dict.fromkeys((near, Path("runs"))) for one in _listed(folder)]
    close = difflib.get_close_matches(str(path), known, n=3, cutoff=0.3)
    return f"{what}; did you mean {' or '.join(close)}?" if close else f"{what}; see what there is: saccade runs"


def _listed(folder: Path) -> Iterable[Any]:
    return (one for one in run_list(folder) if one.system) if folder.is_dir() else ()
