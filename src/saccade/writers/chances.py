"""How likely everything is that a model could put out, and how that changes without some of its heads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.view.output.display_text import fit, place_name
from saccade.view.output.screen import this_screen

Floats = NDArray[np.float64]
NONE: Floats = np.zeros(0)
SHOWN = 5  # of the outputs that are likeliest, before or after


@dataclass(frozen=True)
class OutputSlot:
    """One thing that is put out: the probability of everything that could stand there, and what that is called.

    Shapes: probabilities (N)
    """

    name: str
    probabilities: Floats
    label: Callable[[int], str]


@dataclass(frozen=True)
class Chances:
    """The tokens of a text with their log-probabilities, what could be put out, or the vector that is made."""

    ids: Sequence[int] = ()
    tokens: Sequence[str] = ()
    log_probs: Floats = field(default_factory=lambda: NONE)
    slots: Sequence[OutputSlot] = ()
    vector: Floats | None = None


@dataclass(frozen=True)
class HeadAblation:
    """What some heads change in the output for a text: `before` is with them, `after` without.

    print(model.ablation("The cat sat on the", ["3.5"]))
    """

    text: str
    without: Sequence[str]
    before: Chances
    after: Chances

    @property
    def change(self) -> float:
        """Of the log-probability of the text's tokens, in nats: below 0 where the heads helped; 0 where there are none."""
        return float(self.after.log_probs.sum() - self.before.log_probs.sum())

    def tokens(self) -> list[dict[str, Any]]:
        """Each token of the text with its log-probability before and after."""
        both = zip(self.before.tokens, self.before.log_probs.tolist(), self.after.log_probs.tolist(), strict=True)
        return [{"token": token, "before": old, "after": new, "change": new - old} for token, old, new in both]

    def outputs(self, count: int = SHOWN) -> dict[str, list[dict[str, Any]]]:
        """Of each thing that is put out the likeliest, before or after, with both probabilities."""
        pairs = zip(self.before.slots, self.after.slots, strict=True)
        return {old.name: _compared(old, new, count) for old, new in pairs}

    def divergence(self) -> dict[str, float]:
        """KL(before ‖ after) of each thing that is put out, in nats."""
        pairs = zip(self.before.slots, self.after.slots, strict=True)
        return {old.name: _divergence(old.probabilities, new.probabilities) for old, new in pairs}

    def cosine(self) -> float | None:
        """Of the vectors before and after; None where none is made."""
        if self.before.vector is None or self.after.vector is None:
            return None
        sizes = np.linalg.norm(self.before.vector) * np.linalg.norm(self.after.vector)
        return float(self.before.vector @ self.after.vector / (sizes or 1.0))

    def table(self) -> dict[str, Any]:
        """Everything, for JSON."""
        found: dict[str, Any] = {"text": self.text, "without": list(self.without)}
        if self.before.tokens:
            found |= {"tokens": self.tokens(), "change": self.change}
        if self.before.slots:
            found |= {"outputs": self.outputs(), "divergence": self.divergence()}
        if (cosine := self.cosine()) is not None:
            found["cosine"] = cosine
        return found

    def __str__(self) -> str:
        screen = this_screen(False, None)
        return "\n".join(screen.fit(line, screen.width).rstrip() for line in self._lines())

    def _lines(self) -> list[str]:
        lines = [self.text, f"without {', '.join(self.without)}"]
        if self.before.tokens:
            lines += ["", f"{'token':24}{'log-prob':>10}{'without':>10}{'change':>10}"]
            for one in self.tokens():
                lines.append(_row(one["token"], f"{one['before']:.3f}", f"{one['after']:.3f}", f"{one['change']:+.3f}"))
            sums = (self.before.log_probs.sum(), self.after.log_probs.sum())
            lines.append(_row("all", *(f"{each:.3f}" for each in sums), f"{self.change:+.3f}"))
        for name, rows in self.outputs().items():
            lines += ["", f"{fit(name, 22):24}{'with':>10}{'without':>10}{'change':>10}"]
            for one in rows:
                old, new = 100 * one["before"], 100 * one["after"]
                lines.append(_row(one["output"], f"{old:.2f}%", f"{new:.2f}%", f"{new - old:+.2f}"))
            lines.append(f"KL(with ‖ without) = {self.divergence()[name]:.4f} nats")
        if (cosine := self.cosine()) is not None:
            lines += ["", f"cosine of both vectors: {cosine:.6f}"]
        return lines


def _compared(before: OutputSlot, after: OutputSlot, count: int) -> list[dict[str, Any]]:
    old, new = before.probabilities, after.probabilities
    places = _likeliest(old, new, count)
    return [{"output": before.label(at), "before": float(old[at]), "after": float(new[at])} for at in places]


def _row(name: str, *numbers: str) -> str:
    shown = fit(place_name(name), 22)
    return f"{shown:24}" + "".join(f"{number:>10}" for number in numbers)


def _likeliest(before: Floats, after: Floats, count: int) -> list[int]:
    """The places of the largest of both, in the order of the first."""
    places = {*np.argsort(-before, kind="stable")[:count].tolist(), *np.argsort(-after, kind="stable")[:count].tolist()}
    return sorted(places, key=lambda place: (-before[place], place))


def _divergence(before: Floats, after: Floats) -> float:
    some = before > 0
    return float((before[some] * np.log(before[some] / np.maximum(after[some], 1e-300))).sum())
