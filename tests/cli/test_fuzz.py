"""Whatever is typed, the answer is an exit code and at most a few lines, and nothing is touched outside the directory."""

import io
import random
import sys
from pathlib import Path

import pytest

from .commands import SMALL, here

CHUNKS, EACH = 12, 25

VERBS = {
    "train": [
        "--out out",
        "-oout",
        "--resume",
        "--fresh",
        "--json",
        "-q",
        "--data-dir=x",
        "data.train=good.tsv",
        "tokens.kind=bpe",
    ],
    "evaluate": [
        "--split=valid",
        "--split train",
        "--data=good.tsv",
        "--checkpoint=3",
        "--checkpoint last",
        "--json",
        "search.beam=2",
    ],
    "predict": [
        "good.tsv",
        "-",
        "--n-best=2",
        "--scores",
        "--json",
        "--checkpoint=best",
        "search.method=sample",
        "search.top_k=1",
    ],
    "look": [
        "axa",
        "é",
        "-oa.svg",
        "--out=b.html",
        "--out c.png",
        "--n-best=2",
        "--head=0",
        "--look=attention",
        "--width=20",
        "--color",
    ],
    "config": ["--json", "train.steps=3", "model.score=dot", "data.train=x"],
    "data": ["--json", "--data-dir=x", "--data-dir ."],
    "data get": ["--data-dir=x"],
    "data sample": ["-n3", "--split=valid", "data.train=good.tsv", "--count 2"],
    "systems": ["--json"],
}
NAMES = ["run", "run/", "tiny.toml", "run/config.toml", "bahdanau", "good.tsv", "out", "nowhere", ".", "", "-", "--"]
OPTIONS = [
    *(
        "--help",
        "-h",
        "--version",
        "--json",
        "--resume",
        "--fresh",
        "--out",
        "--out=",
        "-o",
        "--split=tset",
        "--data",
        "--data-dir=",
    ),
    *(
        "--checkpoint",
        "--checkpoint=-1",
        "--checkpoint=",
        "--n-best=0",
        "--n-best=1e3",
        "--head",
        "--head=9",
        "--width",
        "--wat",
    ),
    *("-x", "---", "--=", "--js", "--debug", "--no-color", "-n", "--out=x.gif", "--look=é", "--data=/dev/null"),
]
KEYS = [
    "train.steps",
    "train.learning_rate",
    "model.score",
    "data.train",
    "data.name",
    "search.method",
    "search.n_best",
    "tokens.kind",
]
KEYS += [
    "reader.max_length",
    "train",
    ".steps",
    "train.",
    "system",
    "a.b.c",
    "x.y",
    "",
    "search.beam",
    "data.valid",
    "tokens.size",
]
VALUES = [
    "",
    "1",
    "0",
    "-1",
    "2.5",
    "nan",
    "true",
    "[]",
    "[1",
    "{a=1}",
    '"',
    "'x'",
    "good.tsv",
    "beam",
    "sample",
    "dot",
    "bpe",
]
VALUES += [
    "é",
    "\u202e",
    "\x1b[31m",
    "a=b",
    "1979-05-27",
    "'''\n'''",
    "# no",
    "/dev/null",
    "run",
    "\ud800",
    "x" * 300,
    "text_files",
]
JUNK = [
    "axa",
    "é日本語",
    "שלום",
    "\x1b]0;x\x07",
    "\u202eabc",
    "\t",
    "\n",
    " ",
    "a\nb",
    "%s",
    "{0}",
    "[bold]",
    "../run",
    "~",
    "*",
]
JUNK += [
    "\udcff",
    "9" * 5000,
    "y" * 300,
    "0",
    "-1",
    "None",
    "<pad>",
    "</s>",
    "\\",
    "/dev/null/x",
    "🙂" * 20,
    "a.svg",
    "x.gif",
]

TINY = 'system = "bahdanau"\n[data]\ntrain = "good.tsv"\n[model]\nhidden_size = 4\nembedding_size = 4\n[train]\nsteps = 2\n'
# Twice what an option without its value may swallow; the steps come last and decide.
SHORT = ["train.threads=1", "train.threads=1", *SMALL.split(), "train.steps=2"]


def some(chance: random.Random) -> list[str]:
    """A command that begins well and goes on as it likes."""
    verb = chance.choice(list(VERBS))
    words = verb.split()
    if verb not in ("data", "systems") and chance.random() < 0.9:
        words.append(chance.choice(NAMES[:3] if chance.random() < 0.8 else NAMES))
    for _ in range(chance.randrange(5)):
        words += another(chance, verb)
    if chance.random() < 0.05:
        chance.shuffle(words)
    if "train" in words:
        words += SHORT
    if "sample" in words:  # else it is that of all dates, which takes seconds
        words.append("tiny.toml")
    return words


def another(chance: random.Random, verb: str) -> list[str]:
    """What may come next: mostly what the verb knows."""
    kind = chance.random()
    if kind < 0.6:
        return chance.choice(VERBS[verb]).split()
    if kind < 0.75:
        return [f"{chance.choice(KEYS)}={chance.choice(VALUES)}"]
    return [chance.choice(OPTIONS if kind < 0.88 else JUNK if kind < 0.96 else NAMES)]


def outside(place: Path) -> set[Path]:
    """What lies around the directory."""
    return {path for path in place.parent.rglob("*") if place not in path.parents}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_anything_typed(
    chunk: int,
    place: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chance = random.Random(chunk)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    (place / "tiny.toml").write_text(TINY)
    before = outside(place)
    for words in (some(chance) for _ in range(EACH)):
        monkeypatch.delenv("SACCADE_DATA", raising=False)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("axa\n\né\n".encode()), encoding="utf-8"))
        answer = here(words, capsys)
        assert answer.code in (0, 1, 2, 3), (words, answer)
        assert "Traceback" not in answer.err, (words, answer)
        assert "saccade: unexpected" not in answer.err, (words, answer)
        assert len(answer.err.splitlines()) <= 5, (words, answer)
        assert answer.err.count("saccade: ") == (answer.code != 0), (words, answer)
        assert "\x1b" not in answer.err, (words, answer)
    assert outside(place) == before
    assert list(home.iterdir()) == []
