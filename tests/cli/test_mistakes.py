"""Every mistake is one line that says what, where and how to mend it, and an exit code; never a traceback."""

import errno
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade.training.checkpoints import store
from saccade.training.run import Run

from .commands import SMALL, TRAIN, Answer, apart, here

NEW = f"train bahdanau {SMALL} --out new data.train="
LAST = "checkpoints/step-00000006"


@dataclass(frozen=True)
class Mistake:
    """A command that cannot succeed, and what must be said."""

    name: str
    command: str
    code: int
    words: tuple[str, ...]
    prepare: Callable[[Path], object] = lambda place: None
    notes: bool = False
    """Whether training begins, so that its notes come before."""


def flip(path: Path) -> None:
    """Damage the last byte."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def halve(path: Path) -> None:
    """Cut the file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def every_model(damage: Callable[[Path], None]) -> Callable[[Path], None]:
    """The damage, done to all checkpoints."""

    def done(place: Path) -> None:
        for path in place.glob("run/checkpoints/step-*/model.safetensors"):
            damage(path)

    return done


def written(name: str, content: bytes) -> Callable[[Path], object]:
    """A file with this content."""
    return lambda place: (place / name).write_bytes(content)


def other_rate(place: Path) -> None:
    """A config with another learning rate."""
    path = place / "run" / "config.toml"
    path.write_text(path.read_text().replace("learning_rate = ", "learning_rate = 1"))


def without_config(place: Path) -> None:
    """A run whose config is gone."""
    (place / "run" / "config.toml").unlink()


def stray(place: Path) -> None:
    """A directory that is not empty and not a run."""
    (place / "new").mkdir()
    (place / "new" / "thesis.txt").write_text("mine")


def other_weights(place: Path) -> None:
    """A config that its weights do not fit."""
    config = place / "run" / "config.toml"
    config.write_text(config.read_text().replace("hidden_size = 8", "hidden_size = 12"))


MISTAKES = [
    # Words of the command line
    Mistake("unknown key", NEW + "good.tsv train.step=5", 2, ("train.step: no such key", "did you mean train.steps=5?")),
    Mistake("unknown model key", NEW + "good.tsv model.hiden=5", 2, ("[model]", "did you mean 'hidden_size'?")),
    Mistake("number expected", NEW + "good.tsv train.steps=many", 2, ("train.steps", "integer", "'many'")),
    Mistake("too small", NEW + "good.tsv train.steps=0", 2, ("train.steps", "greater than 0", "got 0")),
    Mistake("not a share", NEW + "good.tsv model.dropout=1.5", 2, ("model.dropout", "less than 1", "got 1.5")),
    Mistake("not a number", NEW + "good.tsv train.learning_rate=nan", 2, ("train.learning_rate", "got nan")),
    Mistake(
        "not a choice", NEW + "good.tsv train.optimizer=adamm", 2, ("train.optimizer", "'adam', 'adamw', 'sgd' or 'rmsprop'")
    ),
    Mistake("unknown section", NEW + "good.tsv trian.steps=5", 2, ("section 'trian'", "did you mean 'train'?")),
    Mistake("word without section", NEW + "good.tsv steps=5", 2, ("section.key=value", "did you mean train.steps=5?")),
    Mistake("word without value", NEW + "good.tsv train.steps", 2, ("section.key=value", "'train.steps'")),
    Mistake("unknown recipe", "train datse", 2, ("recipe or system 'datse'", "did you mean 'dates'?")),
    Mistake("unknown system", "config bahdanaw", 2, ("'bahdanaw'", "did you mean 'bahdanau'?")),
    Mistake("unknown score", NEW + "good.tsv model.score=aditive", 2, ("score 'aditive'", "did you mean 'additive'?")),
    Mistake("unknown normalizer", NEW + "good.tsv model.normalize=softmx", 2, ("'softmx'", "did you mean 'softmax'?")),
    Mistake("unknown data", "train dates --out new data.name=date", 2, ("data set 'date'", "did you mean 'dates'?")),
    Mistake("unknown locale", "train dates --out new data.locales=de_D", 2, ("'de_D'", "did you mean 'de_DE'?")),
    Mistake("unknown split", "evaluate run --split tset", 2, ("split 'tset'", "did you mean 'test'?")),
    Mistake("unknown verb", "trian dates", 2, ("'trian'", "Did you mean 'train'?", "see saccade --help")),
    Mistake("verb of another world", "frobnicate", 2, ("'frobnicate'", "see saccade --help")),
    Mistake("unknown option", "train dates --wat", 2, ("--wat", "see saccade train --help")),
    Mistake("missing argument", "evaluate", 2, ("Missing argument", "RUN", "see saccade evaluate --help")),
    Mistake("nothing to look at", "look run", 2, ("Missing argument", "TEXT", "see saccade look --help")),
    Mistake("too many arguments", "systems all", 2, ("unexpected extra argument", "all", "see saccade systems --help")),
    Mistake("option is no number", "predict run --n-best x", 2, ("--n-best", "integer")),
    Mistake("option is too small", "predict run --n-best 0", 2, ("--n-best", "greater than or equal to 1")),
    Mistake("far too many texts", "predict run --n-best 100000", 2, ("--n-best: expected at most 1000, got 100000",)),
    Mistake("far too many pictures", "look run axa --n-best 100000", 2, ("--n-best: expected at most 1000", "fewer")),
    Mistake("far too many translations", "translate run --n-best 100000", 2, ("--n-best: expected at most 1000",)),
    Mistake("too wide a beam", "translate run --beam 100000", 2, ("--beam: expected at most 1000, got 100000",)),
    Mistake("too wide a search", "predict run search.method=beam search.beam=5000", 2, ("search.beam", "1000", "5000")),
    Mistake("too wide a comparison", "compare run run --beam 5000", 2, ("search.beam", "1000", "5000")),
    Mistake("too many samples", "predict run search.method=sample search.n_best=5000", 2, ("n_best", "1000", "5000")),
    Mistake("too many resampled tests", "compare run run --samples 1000000000", 2, ("--samples", "100000")),
    Mistake("more texts than hypotheses", "predict run search.beam=2 --n-best 3", 2, ("n_best", "beam (2)", "got 3")),
    Mistake("too many seeds", "reproduce mnist-bags --seeds 1000000000", 2, ("--seeds", "1000")),
    Mistake("resume and fresh", "train run --resume --fresh", 2, ("exclude each other", "--resume", "--fresh")),
    Mistake("name makes no directory", "train ./x.toml", 3, ("x.toml", "no such file")),
    # Data
    Mistake("no data", "train bahdanau --out new", 2, ("data.train", "expected a file", "data.train=my.csv")),
    Mistake("missing data", NEW + "god.tsv", 3, ("god.tsv: no such file", "did you mean 'good.tsv'?")),
    Mistake("directory as data", NEW + "run", 3, ("run: expected a folder of texts", "my.tsv")),
    Mistake("unknown format", NEW + "a.xls", 3, ("a.xls", "'.xls'", "known: my.csv"), written("a.xls", b"a,b\n")),
    Mistake("bad TSV", NEW + "a.tsv", 3, ("a.tsv:2:", "'only'", "fix: mend the line"), written("a.tsv", b"a\tb\nonly\n")),
    Mistake("empty source", NEW + "a.tsv", 3, ("a.tsv:1:", "empty", "data.skip_bad"), written("a.tsv", b"\tb\nc\td\n")),
    Mistake("bad JSON", NEW + "a.jsonl", 3, ("a.jsonl:1:", "JSON object", "mend"), written("a.jsonl", b'{"source": \n')),
    Mistake(
        "no such field",
        NEW + "a.jsonl",
        3,
        ("a.jsonl: ", "columns are x", "say data.text=x"),
        written("a.jsonl", b'{"x": 1}'),
    ),
    Mistake("Latin-1", NEW + "a.tsv", 3, ("a.tsv:2:", "UTF-8", "0xe9", "convert"), written("a.tsv", b"a\tb\n\xe9\td\n")),
    Mistake("UTF-16", NEW + "a.tsv", 3, ("a.tsv:", "UTF-16", "fix: convert"), written("a.tsv", "a\tb\n".encode("utf-16"))),
    Mistake("empty data", NEW + "a.tsv", 3, ("a.tsv", "expected examples", "empty file"), written("a.tsv", b"")),
    Mistake(
        "parallel files", NEW + "good.tsv,a.en", 3, ("a.en", "got 56 and 1", "fix: align the files"), written("a.en", b"a\n")
    ),
    Mistake(
        "input data too long", NEW + "good.tsv reader.max_length=2", 3, ("3 tokens, at most 2", "set reader.max_length")
    ),
    Mistake("target too long", NEW + "good.tsv writer.max_length=3", 3, ("4 tokens, at most 3", "set writer.max_length")),
    Mistake("missing data and a run", f"{NEW}god.tsv --out run", 3, ("god.tsv: no such file", "did you mean 'good.tsv'?")),
    Mistake("missing data to score", "evaluate run --data god.tsv", 3, ("god.tsv: no such file", "'good.tsv'")),
    Mistake("unknown data to get", "data get mnits", 2, ("data set 'mnits'", "did you mean 'mnist'?")),
    Mistake("unknown recipe to sample", "data sample datse", 2, ("'datse'", "did you mean 'dates'?")),
    Mistake("input missing", "predict run no.txt", 3, ("no.txt: cannot be read", "name a text file, or -")),
    Mistake("input a text", "predict run 'no such text'", 3, ("name a text file", "echo 'no such text' | saccade")),
    Mistake("input a directory", "predict run run", 3, ("run: expected a file, got a directory", "name a text file")),
    Mistake("input not UTF-8", "predict run a.txt", 3, ("a.txt:2: not UTF-8", "iconv"), written("a.txt", b"axa\n\xe9\n")),
    Mistake(
        "input too long",
        "predict run a.txt",
        3,
        ("a.txt:2: 41 tokens, at most 40", "shorten"),
        written("a.txt", b"a\n" + b"b" * 41),
    ),
    Mistake("text too long", f"look run {'a' * 41}", 3, ("saccade: 41 tokens, at most 40", "shorten it")),
    Mistake("text empty", "look run ' '", 3, ("nothing to look at", "the text is empty")),
    # Recipes and runs
    Mistake("missing recipe", "train mine.toml", 3, ("mine.toml: no such file", "saccade recipes")),
    Mistake("broken recipe", "train a.toml", 3, ("a.toml: not TOML", "line 1", "mend"), written("a.toml", b"[train\n")),
    Mistake("recipe without system", "train a.toml", 2, ('system = "NAME"', "bahdanau"), written("a.toml", b"[train]\n")),
    Mistake(
        "key in a recipe",
        "config a.toml",
        2,
        ("train.step: no such key", "did you mean train.steps?"),
        written("a.toml", b'system = "bahdanau"\n[train]\nstep = 3\n'),
    ),
    Mistake("run exists", f"{TRAIN} --out run", 2, ("run: already holds a run", "--resume", "--fresh", "another --out")),
    Mistake("name of a run", "train run", 2, ("run: already holds a run", "--resume", "--fresh", "--out")),
    Mistake("not a run, not empty", NEW + "good.tsv", 2, ("new: not empty and not a run", "--out"), stray),
    Mistake("out below a file", f"{TRAIN} --out good.tsv/x", 2, ("good.tsv/x: cannot be made", "--out")),
    Mistake("out is a file", f"{TRAIN} --out good.tsv", 2, ("good.tsv: cannot be made", "--out")),
    Mistake("out cannot be made", f"{TRAIN} --out /proc/saccade", 2, ("/proc/saccade: cannot be made", "--out")),
    Mistake(
        "config changed",
        "train run --resume train.seed=7",
        2,
        ("run: train.seed cannot change at step 6 (0 → 7): it decided", "as it was", "--fresh", "another --out"),
    ),
    Mistake(
        "data changed",
        "train run --resume",
        3,
        ("run: the training data (good.tsv) has changed", "bring it back", "--out"),
        written("good.tsv", b"a\tb\nc\td\ne\tf\n"),
    ),
    Mistake("no such run", "evaluate runs/x", 3, ("runs/x: not a run", "did you mean run?")),
    Mistake("not a run", "predict new", 3, ("new: not a run", "config.toml", "did you mean run?"), stray),
    Mistake(
        "no checkpoint",
        "evaluate run",
        3,
        ("no checkpoint in run", "train first"),
        lambda place: shutil.rmtree(place / "run" / "checkpoints"),
    ),
    Mistake(
        "bit flipped",
        "evaluate run",
        3,
        (f"run/{LAST}/model.safetensors is damaged", "'s; put the file back"),
        every_model(flip),
    ),
    Mistake(
        "one of several damaged",
        "evaluate run --checkpoint 6",
        3,
        (f"run/{LAST}/model.safetensors is damaged", "take another --checkpoint (3), or put the file back"),
        lambda place: flip(place / "run" / LAST / "model.safetensors"),
    ),
    Mistake("cut", "predict run good.tsv", 3, (f"run/{LAST}/model.safetensors is damaged", "back"), every_model(halve)),
    Mistake("cut, for a look", "look run axa", 3, ("model.safetensors is damaged", "put the file back"), every_model(halve)),
    Mistake(
        "resume what is damaged", "train run --resume", 3, ("no whole checkpoint in run", "train anew"), every_model(flip)
    ),
    Mistake(
        "resume what is cut", "train run --resume", 3, ("no whole checkpoint in run", "bytes instead of"), every_model(halve)
    ),
    Mistake("weights of another config", "evaluate run", 3, ("run/config.toml: expected the file",), other_weights),
    Mistake(
        "tokenizer damaged",
        "evaluate run",
        3,
        ("run/tokenizer.json: expected the file that the run was made with, got another one", "put it back"),
        lambda place: halve(place / "run" / "tokenizer.json"),
    ),
    Mistake(
        "tokenizer gone",
        "train run --resume",
        3,
        ("run/target.tokenizer.json: expected the file that the run was made with, got none", "put it back"),
        lambda place: (place / "run" / "target.tokenizer.json").unlink(),
    ),
    Mistake("config damaged", "evaluate run", 3, ("run/config.toml: expected the file",), written("run/config.toml", b"{")),
    Mistake("config edited", "train run --resume", 2, ("train.learning_rate cannot change at step 6",), other_rate),
    Mistake("edited, not resumed", "look run axa", 3, ("config.toml: expected the file", "train run --resume"), other_rate),
    Mistake("config gone", "train run --resume", 3, ("run/config.toml: expected the file", "got none"), without_config),
    Mistake(
        "checkpoint of no kind", "evaluate run --checkpoint frist", 2, ("--checkpoint", "best, last, average or a step")
    ),
    Mistake("checkpoint zero", "evaluate run --checkpoint 0", 2, ("--checkpoint", "'0'")),
    Mistake("checkpoint of no step", "evaluate run --checkpoint 99", 3, ("no checkpoint of step 99", "there are 3, 6")),
    # Search and pictures
    Mistake(
        "greedy n-best", "predict run good.tsv search.method=greedy search.n_best=3", 2, ("search.n_best", "beam or sample")
    ),
    Mistake(
        "n-best beyond the beam",
        "predict run good.tsv search.method=beam search.n_best=9",
        2,
        ("search.n_best", "(4)", "widen"),
    ),
    Mistake("not of the search", "predict run good.tsv train.steps=3", 2, ("only search.", "got train")),
    Mistake("unknown search key", "evaluate run search.beem=3", 2, ("[search]", "did you mean 'beam'?")),
    Mistake("unknown picture", "look run axa -o a.gif", 2, ("a.gif", ".svg, .png, .html", "got .gif")),
    Mistake("picture below a file", "look run axa -o good.tsv/a.svg", 3, ("good.tsv/a.svg: cannot be written",)),
    Mistake("picture in no directory", "look run axa -o no/a.html", 3, ("no/a.html: cannot be written", "No such file")),
    Mistake("unknown look", "look run axa --look self", 2, ("look 'self'", "known: attention")),
    Mistake("unknown head", "look run axa --head 3", 2, ("only head 0", "got head 3")),
    Mistake("negative head", "look run axa --head=-1", 2, ("--head", "greater than or equal to 0")),
    Mistake("too narrow", "look run axa --width 3", 2, ("--width", "greater than or equal to 16")),
    Mistake(
        "rate without end",
        f"{NEW}good.tsv train.learning_rate=1e300 train.valid_every=9 train.save_every=9",
        1,
        ("no finite gradient", "lower train.learning_rate"),
        notes=True,
    ),
]


def told(answer: Answer, mistake: Mistake) -> None:
    """One line, of the right words; nothing that looks like a result."""
    assert answer.code == mistake.code, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    *before, line = answer.err.splitlines()
    assert not before or mistake.notes, answer.err
    assert not any(note.startswith("saccade: ") for note in before)
    assert line.startswith("saccade: ")
    assert "unexpected" not in line or "extra argument" in line, line
    assert [word for word in mistake.words if word not in line] == [], line


EXCESSES = [one for one in MISTAKES if one.name.startswith(("too wide", "far too"))]


@pytest.mark.parametrize("mistake", EXCESSES, ids=lambda mistake: mistake.name)
def test_what_is_far_too_much_is_told_before_the_model_is_loaded(
    mistake: Mistake, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def loaded(*ignored: object) -> None:
        pytest.fail("it was loaded")

    monkeypatch.setattr(Run, "model", loaded)
    monkeypatch.setattr(Run, "splits", loaded)
    told(here(mistake.command, capsys), mistake)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistake_is_one_line(mistake: Mistake, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mistake.prepare(place)
    told(here(mistake.command, capsys), mistake)


APART = ["unknown key", "unknown option", "unknown verb", "bit flipped", "input too long"]


@pytest.mark.parametrize(
    "mistake", [mistake for mistake in MISTAKES if mistake.name in APART], ids=lambda mistake: mistake.name
)
def test_mistake_is_one_line_for_users(mistake: Mistake, place: Path) -> None:
    mistake.prepare(place)
    told(apart(mistake.command), mistake)


def test_debug_shows_the_traceback(place: Path) -> None:
    answer = apart("data get mnits --debug")
    assert answer.code == 1
    assert "Traceback" in answer.err
    assert "unknown data set 'mnits'" in answer.err


@pytest.mark.parametrize(
    "words",
    [
        "data.train=god.tsv",
        "data.train=good.tsv model.score=aditive",
        "data.train=good.tsv reader.max_length=2",
        "data.train=",
    ],
)
@pytest.mark.parametrize("before", ["", "runs", "runs/bahdanau"])
def test_failed_start_leaves_nothing(words: str, before: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / before).mkdir(parents=True, exist_ok=True)
    found = sorted(place.rglob("*"))
    assert here(f"train bahdanau {SMALL} {words}".replace("reader.max_length=40", ""), capsys).code in (2, 3)
    assert sorted(place.rglob("*")) == found


def test_failed_start_beside_a_run_leaves_the_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for words in ("", "--resume train.learning_rate=0.5", "data.train=god.tsv"):
        assert here(f"{TRAIN} --out run {words}", capsys).code in (2, 3)
    now = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert {path.name for path in found if now.get(path) != found[path]} <= {".lock"}
    assert now.keys() == found.keys()


def test_failed_look_writes_no_picture(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here("look run axa -o a.svg -o b.gif", capsys).code == 2
    assert here("look run axa -o a.svg --head 3", capsys).code == 2
    assert not (place / "a.svg").exists()


def test_nothing_at_all_is_helped(capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("", capsys)
    assert answer.code == 2
    assert "Usage: saccade" in answer.out
    assert answer.err == "saccade: expected a verb; see saccade --help\n"


HOLD = """
import sys
from pathlib import Path
from types import SimpleNamespace
from saccade.lock import locked
with locked(Path("run")):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(place: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the run."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.communicate()


def test_locked_run_names_its_holder(holder: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]) -> None:
    for how in ("--resume", "--fresh"):
        answer = here(f"train run {how}", capsys)
        told(answer, Mistake("locked", "", 2, ("run run is in use", f"process {holder.pid}", "wait for it")))
    assert here("evaluate run", capsys).code == 0


@pytest.mark.parametrize("point", ["write model.safetensors", "rename step-00000003", "write .tmp-LAST"])
def test_full_disk(point: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(at: str) -> None:
        if at.startswith(point):
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_at", full)
        answer = here(f"{TRAIN} --out new", capsys)
    told(answer, Mistake("full", "", 1, ("cannot save step 3", "No space left", "free some space"), notes=True))
    assert here(f"{TRAIN} --out new --resume --quiet", capsys).code == 0


def test_no_room_is_told_before_writing(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
        answer = here(f"{TRAIN} --out new", capsys)
    told(
        answer, Mistake("no room", "", 1, ("not enough space in new/checkpoints", "10 bytes there", "free some"), notes=True)
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_behind_the_output(place: Path) -> None:
    words = [sys.executable, "-m", "saccade", "systems"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    told(Answer(ended.returncode, "", ended.stderr), Mistake("full", "", 1, ("No space left on device", "check")))
