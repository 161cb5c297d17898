"""What `saccade compare` does: runs of one kind on one test, by their own metric, and whether they differ."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from saccade import config
from saccade.cli import by_length, verbs
from saccade.data.examples import PARTS, Example
from saccade.errors import UsageError
from saccade.evaluation.caption_scores import NAMES
from saccade.evaluation.metrics import METRICS, Metric
from saccade.evaluation.significance import BOOTSTRAP, Row, compare_values, mean_of, paired_rows
from saccade.trained import TrainedModel
from saccade.writers.writer import Prediction

SHOWN = 5  # examples that are shown side by side
LEVEL = 0.05  # of p, below which a difference is called one
KINDS = ("kind of output", "kind of input", "labels", "tokens and lengths that a loss is counted in", "graph")  # see `_kind`
LIKELIHOOD = ("loss", "perplexity")  # of language models alone, which predict nothing to be scored
TEXTS = ("bleu", "chrf", "cer", *NAMES)
SHARES = ("exact_match", "accuracy", "vqa_accuracy", "macro_f1", "auc", "answer_f1", "span_f1")
COMPARED = (*SHARES, *TEXTS, "mrr", "recall_10", "recall_100", "mae", "bits_per_sequence", "bit_error")
Told = tuple[str, dict[str, Row]]  # the test, and a row for each run


def compare(
    paths: Sequence[Path],
    words: Sequence[str],
    split: str | None,
    samples: int,
    *,
    data: str | None,
    data_dir: str | None,
    machine: bool,
    name: str | None = None,
    lengths: bool = False,
    out: Sequence[Path] = (),
) -> None:
    """The metric of each run on the test of the first, whether the others differ from it, and some texts side by side."""
    by_length.check(lengths, out)
    verbs.use(data_dir)
    if len(paths) < 2:
        raise UsageError("compare: expected two runs or more; the first is what the others are compared with")
    names = [str(path) if paths.count(path) == 1 else f"{path} ({number})" for number, path in enumerate(paths, 1)]
    models = {name: verbs.opened_model(path, None) for name, path in zip(names, paths, strict=True)}
    first = next(iter(models.values()))
    _require_alike(models)
    metric = metric_of(first, name)
    given = {run: verbs.searched(model, words) for run, model in models.items()}
    for run, model in models.items():
        model.search(**given[run])  # refuses what cannot be, before any data is loaded
    examples, split = first.examples(split, data)
    for note in data_notes(models, split):
        print(f"note: {note}", file=sys.stderr)
    predicted = first.task.writer.PREDICTED
    outputs = {run: model.predictions(examples, **given[run]) for run, model in models.items()} if predicted else {}
    test, rows = tested(models, metric, examples, outputs, samples)
    signature = first.task.writer.signatures().get(metric.name, "")
    bins = {run: first.task.by_length(examples, own) for run, own in outputs.items()} if lengths else {}
    if any(metric.name not in row for own in bins.values() for row in own):
        raise UsageError(f"--lengths: {metric.label} is not scored by length; leave --lengths out")
    if machine:
        facts = {"metric": metric.name, "test": test, "split": split, "examples": len(examples), "samples": samples}
        more = {**({"signature": signature} if signature else {}), **({"lengths": bins} if lengths else {})}
        print(json.dumps({**facts, "runs": rows, **more}))
    else:
        print(f"{metric.label} on {len(examples):,} {judged(split, next(iter(models)))}; {test}, {samples:,} samples")
        for line in table(rows, metric):
            print(f"  {line}")
        if signature:
            print(f"  {signature}")
        by_length.show_table(bins, metric)
        _side_by_side(examples, outputs)
    if out:
        whole = {run: float(row["score"] or 0.0) for run, row in rows.items()}
        by_length.draw(bins, whole, metric, signature, out, quiet=machine)


def _require_alike(models: Mapping[str, TrainedModel]) -> None:
    """Refuse runs whose scores could not be held against each other."""
    (name, first), *others = models.items()
    for run, model in others:
        for what, one, other in zip(KINDS, _kind(first), _kind(model), strict=True):
            if one != other:
                raise UsageError(f"compare: expected runs with the same {what}, got {name} and {run}; compare others")


def _kind(model: TrainedModel) -> tuple[Any, ...]:
    task = model.task
    kept = task.reader.kept()
    graph = None if kept is None else kept.fingerprint()
    return type(task.writer), task.reader.INPUT, getattr(task.writer, "names", None), _counted(task), graph


def _counted(task: Any) -> tuple[Any, ...] | None:
    """What the loss of a language model is a mean over."""
    if task.writer.PREDICTED:
        return None
    if task.writer.CONTINUES:
        return task.writer.tokenizer.text(), task.writer.config.context_length
    return task.reader.tokenizer.text(), task.reader.config.max_length, task.writer.config


def metric_of(model: TrainedModel, name: str | None) -> Metric:
    """The run's own metric, or the one of this name, if runs can be compared by it."""
    writer = model.task.writer
    wanted = COMPARED if writer.PREDICTED else LIKELIHOOD
    known = [one for one in writer.metrics(writer.config) if one in wanted]
    if name is None:
        return METRICS[next(one for one in [*writer.choose_by(), *known] if one in known)]
    if name not in known:
        raise UsageError(f"--metric: expected what {model.system} is compared by, {' or '.join(known)}, got {name!r}")
    return METRICS[name]


def tested(
    models: Mapping[str, TrainedModel],
    metric: Metric,
    examples: Sequence[Example],
    found: Mapping[str, Sequence[Prediction]],
    samples: int,
) -> Told:
    """The test that fits the metric, and what it says of each run."""
    writer = next(iter(models.values())).task.writer
    if metric.name in LIKELIHOOD:
        return _likelihood(models, metric, examples, samples)
    if (rows := writer.bootstrap(metric.name, examples, found, samples)) is not None:
        return BOOTSTRAP, rows
    values = {run: models[run].task.writer.outcomes(metric.name, examples, own) for run, own in found.items()}
    if all(own is not None for own in values.values()):
        if metric.unit == "%":
            return compare_values(values, samples)
        return BOOTSTRAP, paired_rows({run: mean_of(own) for run, own in values.items()}, len(examples), samples)
    scores = {run: models[run].task.writer.whole(metric.name, examples, own) for run, own in found.items()}
    return BOOTSTRAP, paired_rows(scores, len(examples), samples)


def _likelihood(models: Mapping[str, TrainedModel], metric: Metric, examples: Sequence[Example], samples: int) -> Told:
    """Loss per token of a running text, whose windows are drawn; perplexity is that of its tokens alone."""
    values, words, counts = {}, {}, np.zeros(0)
    for run, model in models.items():
        corpus = model.task.corpus(examples)
        pairs = [model.task.loss(model.module, corpus, [i]) for i in range(len(corpus.lengths))]
        counts = np.array([count for _, count, _ in pairs], np.float64)
        words[run] = np.array([sums.get("masked_loss", total) for total, _, sums in pairs])
        values[run] = np.array([total / count for total, count, _ in pairs])
    if metric.name == "loss":
        return compare_values(values, samples, counts)

    def perplexity(own: Any) -> Any:
        return lambda indices: math.exp(own[indices].sum() / counts[indices].sum())

    return BOOTSTRAP, paired_rows({run: perplexity(own) for run, own in words.items()}, len(counts), samples)


def judged(split: str, name: str) -> str:
    """What runs are judged by: a part of the data of the first, or a file."""
    return f"{split} examples of {name}" if split in PARTS else f"examples of {split}"


def data_notes(models: Mapping[str, TrainedModel], split: str) -> list[str]:
    """What is told of runs that were trained, or are tested, on other data than the first."""
    (name, first), *others = models.items()
    given = f"the first's {split} data" if split in PARTS else split
    notes = []
    for run, model in others:
        keys, other = _settings(first), _settings(model)
        differ = [key for key in keys if key in other and keys[key] != other[key]]
        why = "; ".join(f"data.{key} = {other[key]!r}, not {keys[key]!r}" for key in differ)
        why = f" ({why})" if differ else ""
        trained, tested = (first.data.get(part) != model.data.get(part) for part in ("train", split))
        if trained or (differ and not (first.data and model.data)):
            notes.append(f"{run}: trained on other data than {name}{why}; all are judged by {given}")
        elif tested:
            notes.append(f"{run}: its own {split} data is another{why}; all are judged by the first's")
    return notes


def _settings(model: TrainedModel) -> dict[str, Any]:
    return {"name": model.run.settings.dataset, **config.plain(model.run.settings.data)}


def table(rows: Mapping[str, Row], metric: Metric) -> list[str]:
    """A line for each run, and what p is."""
    cells = [["run", metric.label, "95 % interval", "difference", "p", ""]]
    for run, row in rows.items():
        score, mean, half = (row[key] or 0.0 for key in ("score", "mean", "interval"))
        low, high = mean - half, mean + half
        if metric.unit == "%":
            low, high = max(low, 0.0), min(high, 1.0)  # no share is beyond all or nothing
        interval = f"{metric.show(low)} … {metric.show(high)}"
        cells.append([run, metric.show(score), interval, *_difference(metric, row["difference"], row["p"])])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:5], widths[1:5]), row[5]]).rstrip() for row in cells]
    pairs = len(rows) - 1
    lines.append("p: how often two equally good runs would differ by so much on a test like this one")
    lines.append("these trainings are compared: others of the same recipe, with other seeds, differ, too")
    if pairs > 1:
        lines.append(f"each p is of one pair alone: of {pairs} pairs, call a difference one below {LEVEL:g} / {pairs}")
    return lines


def _difference(metric: Metric, difference: float | None, p: float | None) -> list[str]:
    if difference is None or p is None:
        return ["", "", ""]
    sign = "+" if difference >= 0 else "−"
    verdict = "no difference shown" if p >= LEVEL else "better" if metric.rank(difference) > 0 else "worse"
    return [sign + metric.show(abs(difference)), f"{p:.4f}" if p >= 0.0001 else "< 0.0001", verdict]


def _side_by_side(examples: Sequence[Example], outputs: Mapping[str, Sequence[Prediction]]) -> None:
    """Examples on which the runs differ, spread over the test."""
    texts = {run: [one.text for one in own] for run, own in outputs.items()}
    different = [i for i in range(len(examples)) if len({own[i] for own in texts.values()}) > 1]
    width = max([9, *map(len, texts)])
    for i in different[:: max(1, len(different) // SHOWN)][:SHOWN]:
        example = examples[i]
        given = example.input if isinstance(example.input, str) else example.name or example.where()
        print(f"\n  {'input':{width}}  {given}\n  {'target':{width}}  {example.target}")
        for run, own in texts.items():
            print(f"  {run:{width}}  {own[i]}")
