"""What the verbs do that are for translation: translate as lines come in, and compare what runs make of one test."""

import json
import os
import select
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from saccade import config, inputs
from saccade.cli import by_length, streams, verbs
from saccade.data.examples import Example
from saccade.errors import UsageError
from saccade.evaluation.metrics import Metric
from saccade.evaluation.text_scores import paired_bootstrap
from saccade.evaluation.text_scores import signatures as text_signatures
from saccade.search.search_config import MOST
from saccade.task import WINDOW, Kinds
from saccade.trained import TrainedModel
from saccade.training.run import Run

SHOWN = 5  # sentences that are shown side by side
CHUNK = 1 << 16


def search_of(
    model: TrainedModel, words: Sequence[str], *, beam: int | None, n_best: int, length_penalty: float | None
) -> dict[str, Any]:
    """What the options change in the run's search; a beam of one is greedy search."""
    given = verbs.searched(model, words, n_best)
    if beam is not None and beam > MOST:
        raise UsageError(f"--beam: expected at most {MOST}, got {beam}; choose a narrower one")
    if beam is not None:
        if beam < n_best:
            raise UsageError(f"--n-best: expected at most the beam ({beam}), got {n_best}; widen --beam")
        given |= {"method": "beam", "beam": beam} if beam > 1 else {"method": "greedy"}
    if length_penalty is not None:
        given["length_penalty"] = length_penalty
    return given


def _writer(path: Path, which: str | None = None, device: str = "auto") -> TrainedModel:
    """The model of a run, if it writes text."""
    model = verbs.opened_model(path, which, device)
    if not Kinds.of(model.system).writer.SEARCHES:
        fix = "use saccade predict and saccade evaluate"
        raise UsageError(f"{path}: expected a run that writes text, got {model.system}; {fix}")
    return model


def translate(
    path: Path,
    file: str,
    words: Sequence[str],
    which: str | None,
    *,
    to: str | None,
    beam: int | None,
    n_best: int,
    length_penalty: float | None,
    scores: bool,
    int8: bool,
    device: str,
    machine: bool,
) -> None:
    """A line (or n_best of them, for each language) for each line, in order, as soon as it can be had."""
    model = _writer(path, which, device)
    search = search_of(model, words, beam=beam, n_best=n_best, length_penalty=length_penalty)
    options = replace(model.options(**search), groups=_languages(model.task.writer, to))
    with verbs.opened(file) as stream, verbs.resting(model.module, int8=int8):
        streams.as_utf8()
        done = 0
        for lines in windows(stream, "standard input" if file == "-" else file):
            for _, found in model.outputs(lines, options, pieces=True, first=done):
                verbs.write(found, scores=scores, machine=machine, named=len(options.groups) > 1)
            sys.stdout.flush()
            done += len(lines)


def _languages(writer: Any, to: str | None) -> Sequence[str]:
    """What to write in: all that are asked for, or all that the model knows."""
    known: list[str] = writer.groups()
    if to is None:
        return known
    if known == [""]:
        raise UsageError("--to: this run writes one language; leave --to out")
    wanted = [name.strip() for name in to.split(",")]
    for name in wanted:
        writer.first(name)  # refuses what it does not know
    return wanted


def windows(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lines in lists: what is there already, up to a window of them, but never waiting for more once there is one.

    A file comes in large pieces, which are quick; a person who types, or a slow program, gets each answer at once.
    """
    if not _can_wait(stream):
        lines = verbs.decoded(inputs.lines(stream, name), name)
        while window := list(islice(lines, WINDOW)):
            yield window
        return
    arriving, window = _Arriving(stream.fileno(), name), []
    for line in verbs.decoded(arriving, name):
        window.append(line)
        if len(window) == WINDOW or not arriving.ready():
            yield window
            window = []
    if window:
        yield window


def _can_wait(stream: BinaryIO) -> bool:
    """Whether the system can tell if more is there: of pipes and terminals, where there is `select`."""
    try:
        number = stream.fileno()
        return not os.path.isfile(f"/dev/fd/{number}") and os.name == "posix"
    except (OSError, ValueError):
        return False


class _Arriving:
    """Whole lines of a descriptor, read without a buffer that would hide what has arrived."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name, self.rest, self.over = number, name, b"", False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            line, end, rest = self.rest.partition(b"\n")
            if end:
                self.rest = rest
                yield line + end
            elif self.over:
                if line:
                    self.rest = b""
                    yield line
                return
            else:
                inputs.require_line(self.rest, self.name)
                chunk = os.read(self.number, CHUNK)
                self.rest, self.over = self.rest + chunk, not chunk

    def ready(self) -> bool:
        """Whether something more is there without waiting for it."""
        return b"\n" in self.rest or self.over or bool(select.select([self.number], [], [], 0)[0])


def compare(
    paths: Sequence[Path],
    words: Sequence[str],
    split: str | None,
    samples: int,
    *,
    data_dir: str | None,
    machine: bool,
    lengths: bool = False,
    out: Sequence[Path] = (),
) -> None:
    """BLEU of each run on the test of the first, whether the others differ from it, and some sentences side by side."""
    by_length.check(lengths, out)
    verbs.use(data_dir)
    if len(paths) < 2:
        raise UsageError("compare: expected two runs or more; the first is what the others are compared with")
    models = [_writer(path) for path in paths]
    given = [verbs.searched(model, words) for model in models]
    for model, own in zip(models, given, strict=True):
        model.search(**own)  # refuses what cannot be, before any data is loaded
    examples, split = models[0].examples(split)
    for path, model in zip(paths[1:], models[1:], strict=True):
        _tell_other_data(
            f"{path}: trained on other data than {paths[0]}", _trained_on(models[0].run), _trained_on(model.run)
        )
    writer = models[0].task.writer
    found = {str(path): model.predictions(examples, **own) for path, model, own in zip(paths, models, given, strict=True)}
    texts = {name: [one.text for one in own] for name, own in found.items()}
    told = paired_bootstrap(texts, [one.target for one in examples], writer.config.bleu_tokenize, samples)
    signature = text_signatures(writer.config.bleu_tokenize)["bleu"]
    bins = {name: models[0].task.by_length(examples, own) for name, own in found.items()} if lengths else {}
    if machine:
        facts = {"runs": told, "examples": len(examples), "samples": samples, "signature": signature}
        print(json.dumps({**facts, **({"lengths": bins} if lengths else {})}))
    else:
        _show(told, f"{len(examples):,} {split} examples, {samples:,} samples", signature)
        by_length.show_table(bins, writer.main())
        _side_by_side(examples, texts)
    if out:
        main = writer.main()
        by_length.draw(bins, _whole(told, bins, main), main, writer.signatures().get("bleu", ""), out, quiet=machine)


def _trained_on(run: Run) -> dict[str, Any]:
    return {"name": run.settings.dataset, **config.plain(run.settings.data)}


def _tell_other_data(about: str, first: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Another language, say, is judged by the wrong references: whoever asks for it hears of it."""
    keys = [key for key in first if key in other and first[key] != other[key]]
    changed = [f"data.{key} = {other[key]!r}, not {first[key]!r}" for key in keys]
    if changed:
        print(f"note: {about} ({'; '.join(changed)}); all are judged by the first's test", file=sys.stderr)


def _whole(
    told: Mapping[str, Mapping[str, float | None]], bins: Mapping[str, by_length.Bins], metric: Metric
) -> dict[str, float]:
    """The score of each run on all examples, in the metric of its bins."""
    bleu = metric.name == "bleu"
    return {name: told[name]["bleu"] or 0.0 if bleu else by_length.overall(rows, metric) for name, rows in bins.items()}


def _show(told: Mapping[str, Mapping[str, float | None]], about: str, signature: str) -> None:
    """A line for each run."""
    print(f"{about}, 95 % intervals; p: that a difference to the first is chance")
    for name, row in told.items():
        p = "" if row["p"] is None else f"  p = {row['p']:.4f}"
        print(f"  {name:30} BLEU {row['bleu']:.2f} ({row['mean']:.2f} ± {row['interval']:.2f}){p}")
    print(f"  {signature}")


def _side_by_side(pairs: Sequence[Example], texts: Mapping[str, Sequence[str]]) -> None:
    """Sentences on which the runs differ, spread over the test."""
    different = [i for i in range(len(pairs)) if len({found[i] for found in texts.values()}) > 1]
    for i in different[:: max(1, len(different) // SHOWN)][:SHOWN]:
        print(f"\n  {'source':30} {pairs[i].input}\n  {'reference':30} {pairs[i].target}")
        for name, found in texts.items():
            print(f"  {name:30} {found[i]}")
