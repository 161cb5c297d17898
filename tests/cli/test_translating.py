"""Translating line by line as lines come, in several languages."""

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import UsageError
from saccade.exchange.opening import load as load_run
from saccade.training.run import Run
from saccade.view.trace_file import load

from .commands import apart, here

GROUPS = "".join(
    f"{a}{b}\t{text}\t{group}\n"
    for a in "abcdef"
    for b in "xyzuv"
    for group, text in (("de", f"{a}-{b}"), ("fr", f"{b}-{a}"), ("cs", f"{a}{a}"))
)
MANY = (
    "train transformer data.train=many.tsv data.test=many.tsv writer.start=group writer.share_tokenizer=true "
    "writer.metric=bleu tokens.kind=char writer.label_smoothing=0.0 "
    "train.learning_rate=1e-3 train.schedule=constant train.warmup=0 "
    "model.hidden_size=8 model.num_heads=2 model.intermediate_size=8 model.encoder_layers=1 "
    "model.decoder_layers=1 train.steps=3 "
    "train.batch_tokens=400 train.threads=1 search.max_length=8 --out many"
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
    scores = [float(row.split("%\t")[0]) / 100 for row in rows]
    assert all(0 < score < 1 for score in scores)
    told = json.loads(here("translate run in.txt --beam 3 --n-best 3 --json", capsys).out.splitlines()[0])
    assert [math.exp(one["log_prob"]) for one in told] == pytest.approx(scores[:3], rel=0.05, abs=1e-4)
    greedy = here("translate run in.txt --beam 1", capsys).out
    assert greedy == here("predict run in.txt", capsys).out
    short = here("translate run in.txt --beam 3 --length-penalty 0", capsys)
    assert short.code == 0
    assert here("predict run in.txt --beam 3 --n-best 3 --scores", capsys).out.splitlines() == rows
    assert here("predict run in.txt --beam 1", capsys).out == greedy
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
    trained = load_run(many)
    calls: list[int] = []
    model: Any = trained.module
    encode = model.encode

    def counted(source: Any, lengths: Any) -> Any:
        calls.append(len(source))
        return encode(source, lengths)

    monkeypatch.setattr(model, "encode", counted)
    found = trained.outputs(["ax", "by"], trained.options(["de", "fr", "cs"]))
    assert [[one.group for one in best] for _, best in found] == [["de", "fr", "cs"]] * 2
    assert calls == [2]


def test_one_of_several_languages_is_looked_at(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = load_run(many)
    for to in ("de", "fr"):
        shown = here(["look", "many", "ax", "--to", to], capsys)
        assert shown.code == 0, shown.err
        assert f"ax → {trained.predict(['ax'], to=to)[0]}" in shown.out
    assert here("look many ax --to es", capsys).code == 2
    assert here("predict many many.tsv", capsys).code == 0


READING, WRITING = "encoder self-attention, layer 1", "decoder self-attention, layer 1"


def test_reading_and_writing_are_looked_at_by_name(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = here("look many ax --to de --no-color --width 120", capsys).out
    assert "cross-attention, layer 1 · mean of 2 heads · down: output (characters) · across: input (characters)" in plain
    assert f'shown: cross-attention, layer 1; there are also "{WRITING}", "{READING}" (--look NAME' in plain
    read = here(
        ["look", "many", "ax", "--to", "de", "--no-color", "--width", "120", "--look", READING, "--head", "1"],
        capsys,
    )
    assert read.code == 0, read.err
    assert f"{READING} · head 1 of 0–1 · down: input (characters) · across: input (characters)" in read.out
    small = here("look many ax --to de --no-color --width 120 --drawing overview", capsys)
    assert "3 looks, 6 heads" in small.out
    assert here("look many ax --to de --drawing line", capsys).code == 2
    written = here(["look", "many", "ax", "--to", "de", "--no-color", "--width", "120", "--look", WRITING], capsys)
    assert "down: output (characters) · across: written (characters)" in written.out
    files = [word for suffix in ("svg", "png", "html", "trace") for word in ("-o", f"r.{suffix}")]
    assert here(["look", "many", "ax", "--to", "de", "--look", READING, "--head", "1", *files], capsys).code == 0
    (scene,) = load(Path("r.trace")).scenes
    assert scene.axes["written"].labels[0] == "<de>"
    (look,) = (look for look in scene.looks if look.name == READING)
    assert (look.queries, look.keys, look.weights.shape) == ("input", "input", (2, 2, 2))
    assert READING in Path("r.svg").read_text()
    assert f'"first":{{"scene":0,"look":"{READING}","head":1,' in Path("r.html").read_text()
    assert Path("r.png").read_bytes().startswith(b"\x89PNG")
    unknown = here(["look", "many", "ax", "--to", "de", "--look", "layer 2, read"], capsys)
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)


def test_who_looks_nowhere_says_so_before_it_works(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "model.embedding_size=4 model.hidden_size=4 train.steps=1 train.threads=1 search.max_length=4 --out blind"
    trained = here(f"train seq2seq data.train=good.tsv {words}", capsys)
    assert trained.code == 0
    assert "next: saccade evaluate blind\n" in trained.out
    assert "look" not in trained.out
    with pytest.raises(UsageError, match="seq2seq, as this run is configured, has no attention to show"):
        load_run("blind").look(["axa"])
    monkeypatch.setattr(Run, "model", lambda *ignored: pytest.fail("it was loaded"))
    answer = here("look blind axa", capsys)
    told = "blind: seq2seq, as this run is configured, has no attention to show; see: saccade systems"
    assert (answer.code, answer.err) == (2, f"saccade: {told}\n")


def test_weights_of_8_bits(many: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told = here("evaluate many --precision int8", capsys)
    assert told.code == 0, told.err
    assert "weights of int8 cost" in told.out
    scores = json.loads(here("evaluate many --precision int8 --json", capsys).out)["scores"]
    assert scores["int8"]["loss"] == pytest.approx(scores["all"]["loss"], abs=0.05)
    assert scores["int8"]["loss"] != scores["all"]["loss"]
    cost = scores["all"]["bleu"] - scores["int8"]["bleu"]
    assert f"weights of int8 cost {cost:.2f} BLEU" in told.out
    Path("in.txt").write_text("ax\nby\n")
    lines = [
        here(f"translate many in.txt --to de --json {option}", capsys).out.splitlines()
        for option in ("", "--precision int8")
    ]
    assert len(lines[0]) == len(lines[1]) == 2
    plain, rounded = ([json.loads(line)[0]["log_prob"] for line in rows] for rows in lines)
    assert plain != rounded
    assert rounded == pytest.approx(plain, abs=0.2)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    off = here("translate many in.txt --precision int8", capsys)
    assert (off.code, off.err.count("\n")) == (2, 1)


def test_not_every_system_has_weights_of_8_bits(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = here("evaluate run --precision int8", capsys)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "transformer" in wrong.err


def test_groups_are_scored_apart_and_with_their_signature(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here("evaluate many --json", capsys).out)
    assert set(told["scores"]) == {"all", "cs", "de", "fr"}
    assert set(told["scores"]["de"]) == {"examples", "exact_match", "loss", "perplexity", "bleu", "chrf"}
    assert "tok:13a" in told["signatures"]["bleu"]
    shown = here("evaluate many", capsys).out
    assert "BLEU: nrefs:1|" in shown
    assert "perplexity" in shown


def test_long_and_short_inputs_are_scored_apart(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.tsv").write_text("".join(f"{'a ' * words}\t{'b ' * words}\n" for words in (1, 1, 2, 3, 5, 8)))
    bins = json.loads(here("evaluate run --data own.tsv --lengths --json", capsys).out)["lengths"]
    assert [row["examples"] for row in bins] == [2, 1, 1, 1, 1]
    assert [row["shortest"] for row in bins] == [1, 2, 3, 4, 6]
    assert [row["longest"] for row in bins] == [1, 2, 3, 5, 8]
    shown = here("evaluate run --data own.tsv --lengths", capsys).out
    assert "\n  1 words          2 examples" in shown
    assert "\n  6–8 words        1 examples" in shown


def test_scores_by_length_are_drawn(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("evaluate many --lengths -o a.svg -o a.png -o a.html", capsys)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-3:] == ["a.svg", "a.png", "a.html"]
    told = json.loads(here("evaluate many --lengths --json --out b.svg", capsys).out)
    drawing = Path("b.svg").read_text()
    assert drawing == Path("a.svg").read_text()
    assert f"many · {told['scores']['all']['bleu']:.2f} on all" in drawing
    assert told["signatures"]["bleu"] in drawing
    for wrong in ("evaluate many --out a.svg", "evaluate many --lengths --out a.gif", "compare many many --out a.svg"):
        refused = here(wrong, capsys)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "--lengths" in refused.err or ".svg" in refused.err


def test_translating_can_be_interrupted(place: Path) -> None:
    """Ctrl-C while it waits for a line: what came before is answered, and one line says how it ended."""
    words = [sys.executable, "-m", "saccade", "translate", "run"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, text=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("axa\n")
        process.stdin.flush()
        assert process.stdout.readline() == here_predicted("axa")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stdout.read() == ""
        assert process.stderr.read() == "saccade: interrupted\n"


def here_predicted(text: str) -> str:
    """What the run answers, as a line."""
    return load_run("run").predict(text).text + "\n"
