"""What the verbs do that need a model or its data."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from torch import nn

from saccade import config, inputs, processes, systems
from saccade import data as datasets
from saccade.cli import by_length, downloads, streams
from saccade.config import Table
from saccade.data.examples import PARTS, Splits
from saccade.data.formats.text_files import to_stderr
from saccade.data.stored.preparations import told_of_preparing
from saccade.errors import DataError, InputError, UnknownName, UsageError
from saccade.evaluation.metrics import METRICS
from saccade.exchange.opening import load
from saccade.kernels.runtime import kernels_on
from saccade.layers.linear import MAKERS, Linear, Precision, at_rest
from saccade.new_run import settled, started, unheard
from saccade.search.search_config import MOST
from saccade.task import Kinds
from saccade.trained import TrainedModel
from saccade.training.progress import watcher
from saccade.training.run import Run, Which
from saccade.training.settings import base, resolve
from saccade.training.train import train as train_run
from saccade.view.output.display_text import columns, fit
from saccade.writers.writer import Prediction

CONFUSED, NARROW = ((8, 14), (12, 6)), 7  # so many labels of a matrix that is shown have so many letters; its columns
INPUTS = {"predict": "FILE", "generate": "--prompt {}", "fill": "TEXT", "embed": "FILE"}  # of the command of a writer
STEP = re.compile(r"[1-9][0-9]{0,17}")


def train(
    name: str,
    words: Sequence[str],
    out: Path | None,
    *,
    resume: bool,
    fresh: bool,
    data_dir: str | None,
    machine: bool,
    quiet: bool,
    yes: bool = False,
) -> None:
    """Train what a name stands for, and say what to do next."""
    use(data_dir)
    train_in(
        lambda: started(name, out, resume=resume, fresh=fresh),
        words,
        resume=resume,
        fresh=fresh,
        machine=machine,
        quiet=quiet,
        yes=yes,
    )


def train_in(
    begun: Callable[[], tuple[Table, Path]],
    words: Sequence[str],
    *,
    resume: bool,
    fresh: bool,
    machine: bool,
    quiet: bool,
    yes: bool,
) -> None:
    """Train what these settings and this directory say, and say what to do next."""

    def trained() -> Run:
        table, path = begun()
        note = unheard if processes.own() else to_stderr  # what the first tells is enough
        settings, start = settled(table, words, path, resume=resume, note=note)
        return train_run(path, settings, watcher(quiet=quiet, machine=machine), resume=resume, fresh=fresh, start=start)

    with processes.joined():
        run = downloads.with_data(trained, yes=yes, ask=not (quiet or machine))
    if not (quiet or machine or processes.own()):
        path = run.path
        print(f"done: {path} at step {run.checkpoints.steps()[-1]}")
        kinds = Kinds.of(run.settings.system, run.settings.task)
        typed = kinds.reader.TYPED
        if not getattr(run.settings.data, "test", True):  # files of one's own, of which none is the test
            typed = typed.replace("test#", "valid#")
        look = [f"look {path} {typed} --out look.html"] if systems.attends(run.settings.system, run.settings.model) else []
        write = f"{kinds.writer.VERB} {path} {INPUTS[kinds.writer.VERB].format(typed)}"
        say_next(f"evaluate {path}", write, *look)


def say_next(*commands: str) -> None:
    """What can be done now, a line each."""
    for number, command in enumerate(commands):
        print(f"{'next:' if number == 0 else '':5} saccade {command}")


def evaluate(
    path: Path,
    words: Sequence[str],
    split: str | None,
    data: str | None,
    which: str | None,
    *,
    data_dir: str | None,
    device: str,
    machine: bool,
    lengths: bool = False,
    precision: str | None = None,
    out: Sequence[Path] = (),
) -> None:
    """Print the scores of a run; processes that torchrun has started share the examples out, and the first prints."""
    with streams.shared_out():
        _evaluate(path, words, split, data, which, data_dir, device, machine, lengths, precision, out)


def _evaluate(
    path: Path,
    words: Sequence[str],
    split: str | None,
    data: str | None,
    which: str | None,
    data_dir: str | None,
    device: str,
    machine: bool,
    lengths: bool,
    precision: str | None,
    out: Sequence[Path],
) -> None:
    by_length.check(lengths, out)
    use(data_dir)
    model = opened_model(path, which, device)
    given = searched(model, words)
    if data and model.task.reader.kept() is not None:
        raise UsageError("--data: expected a run that reads files, got one that labels the nodes of its graph; leave it out")
    options = model.options(**given)
    with told_of_preparing(watcher(quiet=machine or bool(processes.rank())).preparing):
        examples, what = model.examples(split, data)
        evaluation = model.task.evaluate(model.module, examples, options)
    scores = dict(evaluation.scores)
    if precision:
        with resting(model.module, precision):
            scores[precision] = model.task.evaluate(model.module, examples, options)["all"]
    bins = model.task.by_length(examples, evaluation.predictions) if lengths else []
    search = model.search(**given)
    if machine:
        facts = {"run": str(path), "step": model.step, "data": what, "search": config.plain(search)}
        more = {**evaluation.details, **({"lengths": bins} if bins else {})}
        print(json.dumps({**facts, "scores": scores, "signatures": evaluation.signatures, **more}))
    else:
        width = f" of {search.beam}" if search.method == "beam" else ""
        how = f", {search.method} search{width}" if model.task.writer.SEARCHES else ""
        print(replace(evaluation, scores=scores, title=f"{path} at {model.place}, {what}{how}"))
        main = model.task.writer.main()
        if precision:
            lost = main.rank(scores["all"][main.name] - scores[precision][main.name]) * main.scale
            print(f"  weights of {precision} cost {lost:.{main.digits}f} {main.label}")
        for line in confusion_matrix(**evaluation.details["confusion"]) if "confusion" in evaluation.details else []:
            print(f"  {line}")
        by_length.show_bars(bins, main)
        for name, text in evaluation.signatures.items():
            print(f"  {METRICS[name].label}: {text}")
    if out:
        main = model.task.writer.main()
        whole = {str(path): scores["all"][main.name]}
        by_length.draw({str(path): bins}, whole, main, evaluation.signatures.get("bleu", ""), out, quiet=machine)


def resting(model: nn.Module, precision: str) -> at_rest:
    """Weights at rest for many searches, rounded if asked for; only some systems can have those."""
    if precision not in MAKERS:
        raise UnknownName("--precision", precision, list(MAKERS))
    if precision == "float32":
        return at_rest()
    where = f"--precision={precision}"
    if not any(isinstance(part, Linear) for part in model.modules()):
        raise UsageError(f"{where}: expected a transformer, whose weights can be rounded, got another system; leave it out")
    if not kernels_on(next(model.parameters())):
        fix = "use --device cpu, install numba, and leave SACCADE_KERNELS on"
        raise UsageError(f"{where}: expected compiled kernels, got none; {fix}")
    return at_rest(cast(Precision, precision))


def confusion_matrix(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> list[str]:
    """How often each label (down) was predicted as each (across); only where there are few enough to be read."""
    letters = next((letters for most, letters in CONFUSED if len(labels) <= most), None)
    if letters is None:
        return [f"confusion matrix of {len(labels)} labels: too large to be shown here, --json has it"]
    names = [fit(label, letters) for label in labels]
    width = max(min(NARROW, letters), *map(columns, names))
    rows = [[f"{count:,}" for count in row] for row in counts]
    lines = [f"{names[i]:{width}}  {'  '.join(cell.rjust(width) for cell in row)}" for i, row in enumerate(rows)]
    return [f"{'':{width}}  {'  '.join(name.rjust(width) for name in names)}  (confusion matrix; across: predicted)", *lines]


def predict(
    path: Path,
    file: str,
    words: Sequence[str],
    n_best: int,
    which: str | None,
    *,
    device: str,
    scores: bool,
    machine: bool,
    beam: int | None = None,
) -> None:
    """Write a line (or n_best of them) for each line; processes that torchrun has started share the lines out."""
    if file == "-" and processes.launched() > 1:
        raise UsageError("expected a file that every process can read, got standard input; name a file")
    with streams.shared_out():
        _predict(path, file, words, n_best, which, device, scores, machine, beam)


def _predict(
    path: Path,
    file: str,
    words: Sequence[str],
    n_best: int,
    which: str | None,
    device: str,
    scores: bool,
    machine: bool,
    beam: int | None,
) -> None:
    model = opened_model(path, which, device)
    options = model.options(**search_of(model, words, beam=beam, n_best=n_best))
    with opened(file) as stream:
        streams.as_utf8()
        name = "standard input" if file == "-" else file
        rows = model.listed(file)
        lines = decoded(inputs.lines(stream, name), name)
        if model.task.reader.INPUT is str:
            lines = without_columns(lines, name)
        try:
            for _, predictions in model.outputs(model.task.reader.gathered(lines) if rows is None else rows, options):
                write(predictions, scores=scores, machine=machine)
        except InputError as error:
            raise DataError(f"{name}:{' row ' if rows is not None else ''}{error.line}: {error.cause}") from None


def write(found: Sequence[Prediction], *, scores: bool, machine: bool, named: bool = False) -> None:
    """The line or lines of one input, each with its group before it where there are several."""
    if machine:
        facts = [{"text": one.text, "log_prob": one.log_prob, "finished": one.finished} for one in found]
        groups = [{"to": one.group} if named else {} for one in found]
        print(json.dumps([{**fact, **group} for fact, group in zip(facts, groups, strict=True)]))
    for one in found if not machine else ():
        # A line break inside a text would break the order of lines.
        text = one.text.replace("\n", " ").replace("\r", " ")
        print("\t".join([one.group] * named + [_certainty(one)] * scores + [text]))


def _certainty(one: Prediction) -> str:
    """The probability in percent; that of nothing read, or of a number, is none."""
    if not one.text or (one.values is not None and one.values.ndim == 0):
        return "-"
    percent = 100 * one.probability
    return f"{percent:.2f}%" if percent >= 0.01 else f"{percent:.2g}%"


def opened(file: str) -> AbstractContextManager[BinaryIO]:
    """A file or standard input, opened at once, so that a wrong name is told before anything else is done."""
    if file == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("there is no standard input; name a file")
        return nullcontext(sys.stdin.buffer)
    fix = "name a text file, or - for standard input"
    try:
        # What another program writes into a pipe, or a person types, comes to an end, and is read as it comes.
        if not (Path(file).is_fifo() or _is_terminal(Path(file))):
            inputs.require_regular(Path(file), fix)
        return Path(file).open("rb")
    except OSError as error:
        if any(letter.isspace() for letter in file):  # a text rather than the name of a file
            fix += f"; a text by itself comes from standard input: echo {shlex.quote(file)} | saccade …"
        raise DataError(f"{file}: cannot be read ({error.strerror}); {fix}") from None


def _is_terminal(path: Path) -> bool:
    if not path.is_char_device():
        return False
    with path.open("rb", buffering=0) as file:
        return file.isatty()


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines, without their ends."""
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError(f"{name}:{number}: not UTF-8; convert it first, with iconv for example") from None


def without_columns(lines: Iterable[str], name: str) -> Iterator[str]:
    """The lines as they are; a TAB is told of once, since a file of examples is easily taken for one of inputs."""
    warned = False
    for number, line in enumerate(lines, 1):
        if "\t" in line and not warned:
            about = f"{name}:{number} has a TAB, and the whole line is read as one text"
            print(f"note: {about}; examples with their answers are for saccade evaluate --data", file=sys.stderr)
            warned = True
        yield line


def sample(name: str, words: Sequence[str], count: int, split: str) -> None:
    """Print some examples."""
    settings = resolve(base(name), words)
    streams.as_utf8()
    splits: Splits = datasets.dataset(settings.dataset).load(settings.data)
    if split not in PARTS:
        raise UnknownName("split", split, PARTS)
    for example in getattr(splits, split)[:count]:
        print(example.line())


def opened_model(path: Path, which: str | None, device: str = "auto") -> TrainedModel:
    """The model of a run or of a published directory; damaged checkpoints are told of on standard error."""
    return load(path, which_of(which), device)


def require_few(n_best: int) -> None:
    """Refuse more outputs than a search keeps, before anything is loaded."""
    if n_best > MOST:
        raise UsageError(f"--n-best: expected at most {MOST}, got {n_best}; ask for fewer")


def searched(model: TrainedModel, words: Sequence[str], n_best: int = 1) -> Table:
    """What the command line changes in the search: --n-best widens a beam, search.n_best is taken as it stands."""
    require_few(n_best)
    over = config.words(words)
    if set(over) - {"search"}:
        raise UsageError(f"only search.… can be changed for a trained run, got {', '.join(sorted(set(over) - {'search'}))}")
    if over and not model.task.writer.SEARCHES:
        raise UsageError(f"search.…: {model.system} searches for nothing; leave it out")
    given: Table = over.get("search", {})
    own = model.run.settings.search
    if n_best > 1 or own is None or "n_best" not in given:
        return {**given, "n_best": n_best}
    given = {"method": own.method, **given}
    return {"beam": own.beam, **given} if given["method"] == "beam" else given


def search_of(
    model: TrainedModel, words: Sequence[str], *, beam: int | None, n_best: int, length_penalty: float | None = None
) -> Table:
    """What the options change in the run's search; a beam of one is greedy search."""
    given = searched(model, words, n_best)
    if beam is not None and not model.task.writer.SEARCHES:
        raise UsageError(f"--beam: {model.system} searches for nothing; leave it out")
    if beam is not None and beam > MOST:
        raise UsageError(f"--beam: expected at most {MOST}, got {beam}; choose a narrower one")
    if beam is not None:
        if beam < n_best:
            raise UsageError(f"--n-best: expected at most the beam ({beam}), got {n_best}; widen --beam")
        given |= {"method": "beam", "beam": beam} if beam > 1 else {"method": "greedy"}
    if length_penalty is not None:
        given["length_penalty"] = length_penalty
    return given


def which_of(text: str | None) -> Which | None:
    if text is None or text in ("best", "last", "average"):
        return text  # type: ignore[return-value]
    if STEP.fullmatch(text):
        return int(text)
    raise UsageError(f"--checkpoint: expected best, last, average or a step, got {text!r}")


def use(data_dir: str | None) -> None:
    """The directory of --data-dir is where all data is looked for from now on."""
    if data_dir is not None:
        os.environ["SACCADE_DATA"] = data_dir
