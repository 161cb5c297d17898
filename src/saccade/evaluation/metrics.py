"""Metrics as values: what each is called, which way is better, how it is printed; and scores that print as a table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saccade.errors import UnknownName

Scores = Mapping[str, Mapping[str, float]]  # by group, "all" first, then by the name of a metric


@dataclass(frozen=True)
class Metric:
    """A score of predictions."""

    name: str
    label: str
    higher: bool = True
    "Whether higher is better."
    scale: float = 1.0
    "What it is multiplied by to be printed."
    digits: int = 4
    unit: str = ""

    def show(self, value: float | str) -> str:
        """The value as it is printed; a log has numbers that are not finite as text."""
        rounded = round(float(value) * self.scale, self.digits) + 0.0  # which makes −0 to 0
        return f"{rounded:.{self.digits}f}{self.unit}"

    def rank(self, value: float) -> float:
        """The value, or its negative: larger is better."""
        return value if self.higher else -value


def _share(name: str, label: str, *, higher: bool = True) -> Metric:
    return Metric(name, label, higher=higher, scale=100, digits=2, unit="%")


METRICS = {
    metric.name: metric
    for metric in (
        _share("exact_match", "exact match"),
        _share("accuracy", "accuracy"),
        _share("vqa_accuracy", "VQA accuracy"),
        _share("known_answers", "known answers"),
        _share("cer", "character error rate", higher=False),
        _share("chance", "accuracy by chance"),
        _share("error", "error", higher=False),
        Metric("bleu", "BLEU", digits=2),
        Metric("chrf", "chrF", digits=2),
        *(Metric(f"bleu_{order}", f"BLEU-{order}", digits=2) for order in (1, 2, 3, 4)),
        Metric("rouge_l", "ROUGE-L", digits=2),
        Metric("cider", "CIDEr-D", digits=2),
        Metric("meteor_exact", "METEOR (exact)", digits=2),
        _share("pointing_accuracy", "pointing accuracy"),
        Metric("mrr", "mean reciprocal rank"),
        _share("recall_10", "recall@10"),
        _share("recall_100", "recall@100"),
        _share("macro_f1", "macro-F1"),
        Metric("auc", "AUC"),
        Metric("instance_auc", "instance AUC"),
        Metric("mae", "mean absolute error", higher=False),
        Metric("bits_per_sequence", "bits per sequence", higher=False, digits=3),
        _share("bit_error", "bit error", higher=False),
        Metric("loss", "loss", higher=False),
        Metric("masked_loss", "masked loss", higher=False),
        Metric("perplexity", "perplexity", higher=False, digits=3),
        _share("masked_accuracy", "masked accuracy"),
        _share("next_sentence_accuracy", "next-sentence accuracy"),
        _share("span_f1", "span F1"),
        _share("answer_f1", "answer F1"),
        _share("calibration_error", "calibration error", higher=False),
    )
}


def metric(name: str) -> Metric:
    """The metric of this name."""
    if name not in METRICS:
        raise UnknownName("metric", name, METRICS)
    return METRICS[name]


def shown(part: Mapping[str, float], only: Sequence[str] | None = None) -> str:
    """The scores of one group on a line."""
    names = [name for name in part if name in METRICS and (only is None or name in only)]
    return "  ".join(f"{METRICS[name].label} {METRICS[name].show(part[name])}" for name in names)


@dataclass(frozen=True)
class Evaluation(Mapping[str, Mapping[str, float]]):
    """Scores of all examples ("all") and of each group, and what they were computed from."""

    scores: Scores
    signatures: Mapping[str, str] = field(default_factory=dict)
    """How scores that can be computed in more than one way were computed."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else there is to know, such as the confusion matrix."""
    predictions: Sequence[Any] = ()
    title: str = ""

    def __getitem__(self, group: str) -> Mapping[str, float]:
        return self.scores[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def _table(self) -> list[list[str]]:
        names = list(dict.fromkeys(name for part in self.scores.values() for name in part if name in METRICS))
        rows = [["", "examples", *(METRICS[name].label for name in names)]]
        for group, part in self.scores.items():
            cells = [METRICS[name].show(part[name]) if name in part else "" for name in names]
            rows.append([group, f"{part['examples']:,}", *cells])
        return rows

    def __str__(self) -> str:
        rows = self._table()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
        return "\n".join([*([self.title] if self.title else []), *(f"  {line}" for line in lines)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        head, *rows = self._table()
        cells = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
        cells += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        title = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{title}{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def ranked(part: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """What the best checkpoint is chosen by, larger is better: the first metric, and among equals the next."""
    return [METRICS[name].rank(part[name]) if name in part else -math.inf for name in names]
