"""Runs whose answers are labels, by the same verbs: train, evaluate, predict, look."""

import json
from pathlib import Path

import pytest

from saccade.cli.verbs import confusion_matrix

from .commands import here

WORDS = ["good", "fine", "great", "bad", "poor", "awful"]
LINES = "".join(
    f"a {word} film {i}\t{'positive' if WORDS.index(word) < 3 else 'negative'}\n" for i in range(8) for word in WORDS
)
SMALL = (
    "tokens.kind=word model.embedding_size=12 model.hidden_size=8 model.dropout=0 train.steps=40 "
    "train.batch_tokens=400 train.learning_rate=0.05 "
    "train.valid_every=20 train.threads=1"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.tsv").write_text(LINES)
    answer = here(f"train document_attention data.train=my.tsv data.test=my.tsv {SMALL}", capsys)
    assert answer.code == 0, answer.err
    return tmp_path / "runs" / "document_attention"


def test_a_run_with_labels_by_every_verb(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here(f"evaluate {run} --json", capsys).out)
    assert told["scores"]["all"]["accuracy"] == 1.0
    assert told["confusion"] == {"labels": ["negative", "positive"], "counts": [[24, 0], [0, 24]]}
    shown = here(f"evaluate {run} --lengths", capsys).out
    assert "accuracy 100.00%" in shown
    assert "negative  positive  (confusion matrix; across: predicted)" in shown
    (run.parent / "in.txt").write_text("a great film 3\n\nawful\n")
    lines = here(f"predict {run} {run.parent / 'in.txt'}", capsys).out.splitlines()
    assert (len(lines), lines[0], lines[2]) == (3, "positive", "negative")
    scored = here(f"predict {run} {run.parent / 'in.txt'} --n-best 2 --scores", capsys).out.splitlines()
    assert len(scored) == 6
    looked = here(f"look {run} 'a poor film 3' --out {run.parent / 'look.svg'}", capsys)
    assert looked.code == 0
    assert "poor" in (run.parent / "look.svg").read_text()
    again = here(f"train {run} --resume", capsys)
    assert f"saccade look {run} TEXT --out look.html" in again.out


def test_a_run_begins_with_another(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a word or by a line of a recipe; the config shows what is taken over, and mistakes are one line."""
    Path("other.tsv").write_text(LINES.replace("negative", "neutral"))
    few = "data.train=other.tsv train.steps=4 train.threads=1"
    answer = here(
        f"train document_attention start=runs/document_attention {few} --out runs/b train.freeze=embedding.*", capsys
    )
    assert answer.code == 0, answer.err
    told = answer.out + answer.err
    assert "taken from runs/document_attention at step " in told
    assert "new: output.weight (other labels), output.bias (other labels)" in told
    assert "freezing " in told
    shown = here("config document_attention start=runs/document_attention", capsys).out
    assert 'start = "runs/document_attention"  # its parameters' in shown
    assert "embedding_size = 12  #" in shown
    Path("my.toml").write_text('start = "runs/document_attention"\nsystem = "document_attention"\n[model]\ndropout = 0.1\n')
    assert json.loads(here("config my.toml --json", capsys).out)["model"]["embedding_size"] == 12
    answer = here(f"train my.toml {few} --out runs/c", capsys)
    assert "other than in runs/document_attention: model.dropout 0.0 → 0.1" in answer.out + answer.err
    assert 'start = "runs/document_attention"' in here("config runs/c", capsys).out
    for words, line in (
        ("start=runs/nothing", "saccade: start: runs/nothing: not a run"),
        ("start=runs/document_attention tokens.size=9", "saccade: tokens.size: has no effect with start="),
        (
            "start=runs/document_attention train.freeze=embeding.*",
            "saccade: train.freeze: no parameter is called 'embeding.*'",
        ),
        ("start=runs/document_attention train.layer_decay=2", "saccade: train.layer_decay: "),
    ):
        answer = here(f"train document_attention {few} {words} --out runs/d", capsys)
        assert answer.code in (2, 3)
        assert line in answer.err
        assert len(answer.err.splitlines()) <= 2
        assert not Path("runs/d").exists()


def test_documents_by_every_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = LINES.replace("\t", ". It was shown twice!\t").replace("film", "film . Seen by Mr. X ; number")
    (tmp_path / "my.tsv").write_text(lines)
    words = f"data.train=my.tsv data.test=my.tsv {SMALL} reader.vectors=skip_gram model.attention_size=8"
    answer = here(f"train han {words} --out run", capsys)
    assert answer.code == 0, answer.err
    told = json.loads(here("evaluate run --json", capsys).out)
    assert told["scores"]["all"]["accuracy"] == 1.0
    (tmp_path / "in.txt").write_text("It was shown twice! A poor film.\n\nOne great film\n")
    said = here("predict run in.txt", capsys).out.splitlines()
    assert (len(said), said[0], said[2]) == (3, "negative", "positive")
    for look in ("words", "sentences"):
        looked = here(["look", "run", "It was shown twice! A poor film.", "--look", look, "--out", f"{look}.svg"], capsys)
        assert looked.code == 0, looked.err
        assert "poor" in (tmp_path / f"{look}.svg").read_text()


def test_aspects_by_every_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = {"good": "positive", "bad": "negative"}
    lines = [
        f"the food was {one} but the staff was {two} {n} | {aspect}\t{kinds[one if aspect == 'food' else two]}\n"
        for n in range(12)
        for one, two in (("good", "bad"), ("bad", "good"))
        for aspect in ("food", "staff")
    ]
    (tmp_path / "my.tsv").write_text("".join(lines))
    words = f"data.train=my.tsv data.test=my.tsv {SMALL} train.steps=60 train.schedule=constant"
    paper = "model.near=0 model.word_dropout=0.0 reader.spelling=0 writer.agreement=0.0"
    answer = here(f"train atae_lstm {words} {paper} --out run", capsys)
    assert answer.code == 0, answer.err
    assert json.loads(here("evaluate run --json", capsys).out)["scores"]["all"]["accuracy"] == 1.0
    text = "the food was good but the staff was bad 3"
    (tmp_path / "in.txt").write_text(f"{text} | food\n{text} | staff\n\n")
    assert here("predict run in.txt", capsys).out.splitlines()[:2] == ["positive", "negative"]
    looked = here(["look", "run", f"{text} | staff", "--width", "80", "--no-color"], capsys)
    assert looked.code == 0
    assert "aspect: staff" in looked.out
    answer = here(["look", "run", text], capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert answer.err.startswith("saccade: expected a sentence and its aspect")
    (tmp_path / "in.txt").write_text(f"{text} | food\n{text}\n")
    answer = here("predict run in.txt", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert answer.err.startswith("saccade: in.txt:2: expected a sentence and its aspect")


def test_words_never_seen_are_read_by_their_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    endings = ("ful", "fully", "fulness", "fuls")
    stems = {"wonder": "good", "beauti": "good", "dread": "bad", "spite": "bad"}
    lines = [f"a {stem}{end} film {n}\t{label}\n" for stem, label in stems.items() for end in endings for n in range(3)]
    (tmp_path / "my.tsv").write_text("".join(lines))
    answer = here(f"train document_attention data.train=my.tsv {SMALL} train.steps=60 reader.spelling=2 --out run", capsys)
    assert answer.code == 0, answer.err
    found = len(json.loads((tmp_path / "run" / "spelling.json").read_text()))
    assert f"spelling: {found} groups of letters that at least 2 words share\n" in answer.err
    (tmp_path / "in.txt").write_text("wonderous\nbeautiest\ndreading\nspited\n")
    assert here("predict run in.txt", capsys).out.split() == ["good", "good", "bad", "bad"]


def test_a_file_of_examples_that_is_predicted_is_told_of(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"predict {run} my.tsv", capsys)
    assert (answer.code, len(answer.out.splitlines()), answer.err.count("\n")) == (0, len(LINES.splitlines()), 1)
    assert answer.err.startswith("note: my.tsv:1 has a TAB, and the whole line is read as one text; ")


@pytest.mark.parametrize("system", ["bag_of_words", "han"])
def test_systems_that_read_words_whole_say_so(system: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"train {system} data.train=my.tsv reader.spelling=2 --out other", capsys)
    assert (answer.code, answer.err) == (2, f"saccade: reader.spelling: {system} reads words whole; leave it at 0\n")


def test_labels_are_not_translated(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"translate {run} good.txt", capsys)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "expected a run that writes text, got document_attention; use saccade predict" in answer.err


def test_mistakes_are_told_in_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run.parent / "other.tsv").write_text("a film\tmixed\n")
    answer = here(f"evaluate {run} --data {run.parent / 'other.tsv'}", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert f"{run.parent / 'other.tsv'}:1: unknown label 'mixed'; known: negative, positive" in answer.err
    (run.parent / "one.tsv").write_text("a film\tmixed\nno film\tmixed\n")
    answer = here(f"train document_attention data.train={run.parent / 'one.tsv'} --out x", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert "at least 2 different labels" in answer.err
    (run.parent / "two.tsv").write_text("a good film\tpositive\na bad film\tnegative\n")
    answer = here(f"train document_attention data.train={run.parent / 'two.tsv'} --out x", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert "held out" in answer.err
    assert (
        here(f"train document_attention data.train={run.parent / 'two.tsv'} data.held_out=0 {SMALL} --out x", capsys).code
        == 0
    )


@pytest.mark.parametrize(("count", "head"), [(3, "a long na"), (10, "a lon…"), (13, "13 labels: too large")])
def test_a_confusion_matrix_has_room_for_some_labels(count: int, head: str) -> None:
    names = [f"a long name {number}" for number in range(count)]
    lines = confusion_matrix(names, [[i + j for j in range(count)] for i in range(count)])
    assert head in lines[0]
    assert len(lines) == (count + 1 if count < 13 else 1)
    assert max(map(len, lines[1:]), default=0) <= 100


def test_a_row_is_a_true_label_and_a_column_a_predicted_one() -> None:
    lines = confusion_matrix(["no", "yes"], [[1200, 3], [40, 5]])
    assert [line.split() for line in lines] == [
        ["no", "yes", "(confusion", "matrix;", "across:", "predicted)"],
        ["no", "1,200", "3"],
        ["yes", "40", "5"],
    ]
