"""Translating line by line as lines come, in several languages, and comparing runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saccade.training.trained import Trained

from .commands import TRAIN, apart, here, started

GROUPS = "".join(
    f"{a}{b}\t{text}\t{group}\n"
    for a in "abcdef"
    for b in "xyzuv"
    for group, text in (("de", f"{a}-{b}"), ("fr", f"{b}-{a}"), ("cs", f"{a}{a}"))
)
MANY = (
    "train transformer data.train=many.tsv data.test=many.tsv task.starts=group task.shared=true task.metric=bleu "
    "model.width=8 model.heads=2 model.hidden=8 model.encoder_layers=1 model.decoder_layers=1 train.steps=3 "
    "train.max_tokens=400 train.threads=1 search.max_length=8 --out many"
)


@pytest.fixture
def many(place: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A run that writes three languages."""
    Path("many.tsv").write_text(GROUPS)
    assert here(MANY, capsys).code == 0
    return place / "many"


def test_every_line_gets_its_line_whatever_it_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["axa", "", "Небо", "a\0b", "mal " * 5000, "bxb"]
    Path("in.txt").write_text("\n".join(lines))
    answer = here("translate run in.txt", capsys)
    assert answer.code == 0, answer.err
    assert answer.out.count("\n") == len(lines)
    told = answer.out.splitlines()
    assert told[1] == ""
    Path("two.txt").write_text("axa\nbxb\n")
    assert [told[0], told[5]] == here("predict run two.txt", capsys).out.splitlines()


def test_options_of_the_search_are_those_of_the_field(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.txt").write_text("axa\nbyb\n")
    rows = here("translate run in.txt --beam 3 --n-best 3 --scores", capsys).out.splitlines()
    assert len(rows) == 6
    scores = [float(row.split("\t")[0]) for row in rows]
    assert all(score < 0 for score in scores)
    told = json.loads(here("translate run in.txt --beam 3 --n-best 3 --json", capsys).out.splitlines()[0])
    assert [one["log_prob"] for one in told] == pytest.approx(scores[:3], abs=1e-3)
    greedy = here("translate run in.txt --beam 1", capsys).out
    assert greedy == here("predict run in.txt", capsys).out
    short = here("translate run in.txt --beam 3 --length-penalty 0", capsys)
    assert short.code == 0
    wrong = here("translate run in.txt --beam 2 --n-best 3", capsys)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    alone = here("translate run in.txt --to de", capsys)
    assert (alone.code, alone.err) == (2, "saccade: --to: this run writes one language; leave --to out\n")


def test_an_answer_comes_before_the_next_line_is_there(place: Path) -> None:
    words = [sys.executable, "-m", "saccade", "translate", "run"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("axa\nbyb\n")
    process.stdin.flush()
    first = [process.stdout.readline() for _ in range(2)]
    process.stdin.write("cxc")
    process.stdin.close()
    assert process.stdout.read().count("\n") == 1
    assert process.wait(30) == 0
    assert all(first)
    process.stdout.close()
    together = apart("translate run", stdin="axa\nbyb\ncxc").out.splitlines(keepends=True)
    assert together[:2] == first


def test_several_languages_are_read_once(
    many: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("in.txt").write_text("ax\nby\n\n")
    rows = [line.split("\t") for line in here("translate many in.txt --to cs,de", capsys).out.splitlines()]
    assert [row[0] for row in rows] == ["cs", "de"] * 3
    everything = here("translate many in.txt", capsys).out.splitlines()
    assert {line.split("\t")[0] for line in everything[:3]} == {"cs", "de", "fr"}
    unknown = here("translate many in.txt --to es", capsys)
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)
    trained = Trained.open(many)
    calls: list[int] = []
    model: Any = trained.model
    encode = model.encode

    def counted(source: Any, lengths: Any) -> Any:
        calls.append(len(source))
        return encode(source, lengths)

    monkeypatch.setattr(model, "encode", counted)
    found = list(trained.task.predict(model, ["ax", "by"], trained.run.settings.search, groups=("de", "fr", "cs")))
    assert [[one.group for one in best] for best in found] == [["de", "fr", "cs"]] * 2
    assert calls == [2]


def test_one_of_several_languages_is_looked_at(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = Trained.open(many)
    for to in ("de", "fr"):
        shown = here(["look", "many", "ax", "--to", to], capsys)
        assert shown.code == 0, shown.err
        assert f"ax → {trained.predict(['ax'], to=to)[0]}" in shown.out
    assert here("look many ax --to es", capsys).code == 2
    assert here("predict many many.tsv", capsys).code == 0


def test_who_looks_nowhere_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "model.embedding=4 model.hidden=4 train.steps=1 train.threads=1 search.max_length=4 --out blind --quiet"
    assert here(f"train seq2seq data.train=good.tsv {words}", capsys).code == 0
    answer = here("look blind axa", capsys)
    assert (answer.code, answer.err) == (2, "saccade: seq2seq looks nowhere: there is nothing to show\n")


def test_groups_are_scored_apart_and_with_their_signature(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here("evaluate many --json", capsys).out)
    assert set(told["scores"]) == {"all", "cs", "de", "fr"}
    assert set(told["scores"]["de"]) == {"examples", "exact", "loss", "perplexity", "bleu", "chrf"}
    assert "tok:13a" in told["signatures"]["bleu"]
    shown = here("evaluate many", capsys).out
    assert "BLEU: nrefs:1|" in shown
    assert "perplexity" in shown


def test_long_and_short_inputs_are_scored_apart(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.tsv").write_text("".join(f"{'a ' * words}\t{'b ' * words}\n" for words in (1, 1, 2, 3, 5, 8)))
    bins = json.loads(here("evaluate run --data own.tsv --lengths --json", capsys).out)["lengths"]
    assert sum(row["examples"] for row in bins) == 6
    assert [row["shortest"] for row in bins] == [1, 2, 3, 5]
    assert [row["longest"] for row in bins] == [1, 2, 3, 8]
    assert "1–1 words" in here("evaluate run --data own.tsv --lengths", capsys).out


def test_runs_are_compared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here(f"{TRAIN} --out other train.seed=5 train.steps=2", capsys).code == 0
    told = json.loads(here("compare run other --samples 50 --json", capsys).out)
    assert list(told["runs"]) == ["run", "other"]
    assert told["runs"]["run"]["p"] is None
    assert 0 <= told["runs"]["other"]["p"] <= 1
    assert told["examples"] == 56
    shown = here("compare run other --samples 50 --beam 2", capsys).out
    assert shown.count("BLEU") == 2
    assert "reference" in shown
    assert here("compare run", capsys).code == 2


def test_translating_can_be_interrupted(place: Path) -> None:
    process = started("translate run")
    process.terminate()
    assert process.wait(30) != 0
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
