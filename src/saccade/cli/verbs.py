"""What the verbs do that need a model or its data."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from torch import nn

from saccade import config, inputs, systems, tasks
from saccade import data as datasets
from saccade.cli import by_length, streams
from saccade.config import Table
from saccade.data.examples import Splits
from saccade.data.files import to_stderr
from saccade.errors import DataError, InputError, UnknownName, UsageError
from saccade.kernels.runtime import kernels_on
from saccade.layers.linear import Linear, at_rest
from saccade.search import Config as SearchConfig
from saccade.search.config import MOST
from saccade.tasks.prediction import Prediction
from saccade.training.fresh import holds_run, resumable, seat
from saccade.training.progress import watcher
from saccade.training.run import Run, Which, require_same_files
from saccade.training.settings import base, resolve
from saccade.training.soundness import usable
from saccade.training.train import train as train_run
from saccade.training.trained import Trained
from saccade.view import Shown, shown
from saccade.view.output.display_text import columns, fit
from saccade.view.output.saving import kind_of
from saccade.view.render import terminal

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CONFUSED, NARROW = ((8, 14), (12, 6)), 7  # so many labels of a matrix that is shown have so many letters; its columns
ASKED = {"a graph": "ID", "bags": "test#0", "images": "test#0", "sets with an odd one": "test#0"}  # what `look` takes
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
) -> None:
    """Train, and say what to do next."""
    use(data_dir)
    table, path = _named(name, out, resume=resume, fresh=fresh)
    run = train_run(path, resolve(table, words), watcher(quiet=quiet, machine=machine), resume=resume, fresh=fresh)
    if not (quiet or machine):
        print(f"done: {path} at step {run.checkpoints.steps()[-1]}")
        asked = ASKED.get(tasks.load(systems.load(run.settings.system).TASK).DATA, "TEXT")
        if not getattr(run.settings.data, "test", True):  # files of one's own, of which none is the test
            asked = asked.replace("test#", "valid#")
        look = [f"look {path} {asked} --out look.html"] if systems.attends(run.settings.system, run.settings.model) else []
        for number, verb in enumerate((f"evaluate {path}", f"predict {path} FILE", *look)):
            print(f"{'next:' if number == 0 else '':5} saccade {verb}")


def _named(name: str, out: Path | None, *, resume: bool, fresh: bool) -> tuple[Table, Path]:
    """The settings that a name stands for, and the run's directory, which may be that of a run that was begun."""
    if os.path.isdir(name) and holds_run(Path(name)):
        if not (resume or fresh) and out is None:
            raise UsageError(f"{name}: already holds a run; add --resume to go on, --fresh to begin anew, or another --out")
        place = resumable(Path(name)) if resume else seat(Path(name))
        if resume:
            require_same_files(place)
        return config.read(place / "config.toml"), out or Path(name)
    table = base(name)
    stem = Path(name).stem if name.endswith(".toml") else name
    if out is None and not NAME.fullmatch(stem):
        raise UsageError(f"{name!r} does not make a directory's name; choose one with --out")
    return table, out or Path("runs") / stem


def evaluate(
    path: Path,
    words: Sequence[str],
    split: str | None,
    data: str | None,
    which: str | None,
    *,
    data_dir: str | None,
    machine: bool,
    lengths: bool = False,
    int8: bool = False,
    out: Sequence[Path] = (),
) -> None:
    """Print the scores of a run."""
    by_length.check(lengths, out)
    use(data_dir)
    run = Run.open(path)
    search = search_config(run, words)
    task = run.task()
    if data and task.kept() is not None:
        raise UsageError("--data: expected a run that reads files, got one that labels the nodes of its graph; leave it out")
    if data:
        examples: Sequence[Any] = own_data(run, data)
    else:
        splits = task.kept() or run.splits()
        split = split or ("test" if len(splits.test) else "valid")  # where there is no test data, what was held out
        examples = part_of(splits, split)
    if len(examples) == 0:
        fix = "give some with --data" if task.kept() is None else "say in the column split of its nodes which are for what"
        raise DataError(f"{path}: its {split} data is empty; {fix}, or choose another --split")
    if getattr(run.settings.data, "skip_bad", False):
        examples = usable(task, examples, split or "test", run.settings.data, to_stderr)
    model, found = run.model(task, which_of(which))
    texts = task.answers(model, examples, search)
    scores, signatures = task.scores(model, examples, texts), task.signatures()
    if int8:
        with resting(model, int8=True):
            scores["int8"] = task.scores(model, examples, task.answers(model, examples, search))["all"]
    bins = task.by_length(examples, texts) if lengths else []
    details = task.details(examples, texts)
    if machine:
        facts = {"run": str(path), "step": found.step, "data": data or split, "search": config.plain(search)}
        found_too = {**details, **({"lengths": bins} if bins else {})}
        print(json.dumps({**facts, "scores": scores, "signatures": signatures, **found_too}))
    else:
        width = f" of {search.beam}" if search.method == "beam" else ""
        how = f", {search.method} search{width}" if task.writes_text else ""
        print(f"{path} at step {found.step}, {data or split}{how}")
        for name, part in scores.items():
            print(f"  {name:10} {part['examples']:7,} examples  {_scored(part)}")
        if int8:
            lost = by_length.score(scores["all"]) - by_length.score(scores["int8"])
            print(f"  8-bit weights cost {lost:.2f} {by_length.metric([scores['all']])}")
        for line in confused(**details["confusion"]) if "confusion" in details else []:
            print(f"  {line}")
        by_length.show_bars(bins)
        for name, text in signatures.items():
            print(f"  {name.replace('bleu', 'BLEU').replace('chrf', 'chrF')}: {text}")
    if out:
        whole = {str(path): by_length.score(scores["all"])}
        by_length.draw({str(path): bins}, whole, signatures.get("bleu", ""), out, quiet=machine)


def resting(model: nn.Module, *, int8: bool) -> at_rest:
    """Weights at rest for many searches, of 8 bits if asked for; only some systems can have those."""
    if int8 and not any(isinstance(part, Linear) for part in model.modules()):
        raise UsageError(
            "--int8: expected a transformer, whose weights can be rounded, got another system; leave --int8 out"
        )
    if int8 and not kernels_on():
        raise UsageError("--int8: expected compiled kernels, got none; install numba, and leave SACCADE_KERNELS on")
    return at_rest("int8" if int8 else "float32")


def _scored(part: Mapping[str, float]) -> str:
    """The scores of one group on a line."""
    if "chance" in part:
        return f"{part['accuracy']:8.2%} right ({part['chance']:.2%} by chance)  loss {part['loss']:.4f}"
    if "mae" in part:
        return f"{part['exact']:8.2%} exact  mean absolute error {part['mae']:.4f}"
    if "mrr" in part:
        recalls = "  ".join(f"among {name.removeprefix('recall_')} {part[name]:.2%}" for name in part if "recall_" in name)
        return f"mean reciprocal rank {part['mrr']:.4f}  {recalls}"
    if "accuracy" in part:
        area = f"  AUC {part['auc']:.4f}" if "auc" in part else ""
        told = f"{part['accuracy']:8.2%} right  macro-F1 {part['macro_f1']:.4f}{area}"
        told += f"  instance AUC {part['instance_auc']:.4f}" if "instance_auc" in part else ""
        return f"{told}  loss {part['loss']:.4f}  calibration error {part['calibration']:.4f}"
    if "bleu" in part:
        overlap = f"BLEU {part['bleu']:.2f}  chrF {part['chrf']:.2f}  "
    else:
        overlap = f"{part['exact']:8.2%} exact  "
    perplexity = f", perplexity {part['perplexity']:.3f}" if "perplexity" in part else ""
    return f"{overlap}loss {part['loss']:.4f} per token{perplexity}"


def confused(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> list[str]:
    """How often each label (down) was taken for each (across); only where there are few enough to be read."""
    letters = next((letters for most, letters in CONFUSED if len(labels) <= most), None)
    if letters is None:
        return [f"who was taken for whom, {len(labels)} labels: too many to be shown here, --json has them"]
    names = [fit(label, letters) for label in labels]
    width = max(min(NARROW, letters), *map(columns, names))
    rows = [[f"{count:,}" for count in row] for row in counts]
    lines = [f"{names[i]:{width}}  {'  '.join(cell.rjust(width) for cell in row)}" for i, row in enumerate(rows)]
    return [f"{'':{width}}  {'  '.join(name.rjust(width) for name in names)}  (across: what it said)", *lines]


def own_data(run: Run, spec: str) -> Sequence[Any]:
    """The examples of the user's own files, read as those that the run was trained on, if that was on such files."""
    module, how = datasets.dataset(run.settings.dataset), run.settings.data
    if not hasattr(module, "read"):
        module = datasets.dataset(datasets.own(tasks.load(systems.load(run.settings.system).TASK).DATA))
        how = module.Config()
    found: Sequence[Any] = module.read(spec, how)
    return found


def part_of(splits: Splits, name: str) -> Sequence[Any]:
    if name not in ("train", "valid", "test"):
        raise UnknownName("split", name, ("train", "valid", "test"))
    found: Sequence[Any] = getattr(splits, name)
    return found


def predict(
    path: Path, file: str, words: Sequence[str], n_best: int, which: str | None, *, scores: bool, machine: bool
) -> None:
    """Write a line (or n_best of them) for each line."""
    run = Run.open(path)
    search = search_config(run, words, n_best)
    with opened(file) as stream:
        task = run.task()
        model, _ = run.model(task, which_of(which))
        streams.as_utf8()
        name = "standard input" if file == "-" else file
        lines = decoded(inputs.lines(stream, name), name)
        if tasks.load(systems.load(run.settings.system).TASK).DATA == "texts":
            lines = without_columns(lines, name)
        try:
            for found in task.predict(model, lines, search, groups=task.groups()[:1]):
                write(found, scores=scores, machine=machine)
        except InputError as error:
            raise DataError(f"{name}:{error.line}: {error.cause}") from None


def write(found: Sequence[Prediction], *, scores: bool, machine: bool, named: bool = False) -> None:
    """The line or lines of one input, each with its group before it where there are several."""
    if machine:
        facts = [{"text": one.text, "log_prob": one.log_prob, "finished": one.finished} for one in found]
        groups = [{"to": one.group} if named else {} for one in found]
        print(json.dumps([{**fact, **group} for fact, group in zip(facts, groups, strict=True)]))
    for one in found if not machine else ():
        # A line break inside a text would break the order of lines.
        text = one.text.replace("\n", " ").replace("\r", " ")
        print("\t".join([one.group] * named + [f"{one.log_prob:.4f}"] * scores + [text]))


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
    told = False
    for number, line in enumerate(lines, 1):
        if "\t" in line and not told:
            about = f"{name}:{number} has a TAB, and the whole line is read as one text"
            print(f"note: {about}; examples with their answers are for saccade evaluate --data", file=sys.stderr)
            told = True
        yield line


def look(
    path: Path,
    texts: Sequence[str],
    out: Sequence[Path],
    n_best: int,
    which: str | None,
    *,
    to: str | None,
    attention: str | None,
    head: int | None,
    width: int | None,
    color: bool | None,
) -> None:
    """Draw where the model looked for each text, in the terminal or into files."""
    for target in out:
        kind_of(target, shown.FILES)
    if not all(text.strip() for text in texts):
        raise DataError("there is nothing to look at: the text is empty")
    run = Run.open(path)
    if not systems.attends(run.settings.system, run.settings.model):
        what = f"{run.settings.system}, as this run is configured, weighs nothing against anything"
        raise UsageError(f"{path}: expected a run with attention to show, but {what}; see: saccade systems")
    search = search_config(run, (), n_best)
    trained = Trained.open(path, which_of(which))
    trace = trained.look(texts, search, to=to)
    for target in out:
        for written in Shown(trace, attention, head).save(target):
            print(written)
    for scene in trace.scenes if not out else []:
        print(terminal(scene, look=attention, head=head, width=width, color=color), end="\n\n")
    names = [look.name for look in trace.scenes[0].looks]
    if not out and attention is None and len(names) > 1:
        others = ", ".join(f'"{name}"' for name in names[1:])
        print(f"shown: {names[0]}; there are also {others} (--look NAME, and --head N for one head)")


def sample(name: str, words: Sequence[str], count: int, split: str) -> None:
    """Print some examples."""
    settings = resolve(base(name), words)
    streams.as_utf8()
    splits = datasets.dataset(settings.dataset).load(settings.data)
    if not isinstance(splits, Splits):
        raise UsageError(f"{name}: expected texts or bags, got a graph, which has no lines to show")
    for example in part_of(splits, split)[:count]:
        print(example.line())


def search_config(run: Run, words: Sequence[str], n_best: int = 1) -> SearchConfig:
    """The run's search with the changes of the command line; more than one text takes a beam."""
    over = config.words(words)
    if set(over) - {"search"}:
        raise UsageError(f"only search.… can be changed for a trained run, got {', '.join(sorted(set(over) - {'search'}))}")
    given = over.get("search", {})
    table = {**config.plain(run.settings.search), **given}
    if n_best > MOST:
        raise UsageError(f"--n-best: expected at most {MOST}, got {n_best}; ask for fewer")
    if n_best > 1:
        table["n_best"] = n_best
        if table["method"] == "greedy":
            table["method"] = "beam"
        if "beam" not in given:  # a beam that was asked for stays, and what it is too narrow for is told
            table["beam"] = max(table["beam"], n_best)
    search = config.build(SearchConfig, table, "search")
    search.heed(given)
    return search


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
