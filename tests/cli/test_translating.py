"""Translating line by line as lines come, in several languages, and comparing runs."""

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from saccade.cli import translating
from saccade.errors import UsageError
from saccade.evaluation.text_scores import paired_bootstrap
from saccade.exchange.opening import load as load_run
from saccade.training.run import Run
from saccade.view.trace_file import load

from .commands import EXAMPLES, TRAIN, apart, here

GROUPS = "".join(
    f"{a}{b}\t{text}\t{group}\n"
    for a in "abcdef"
    for b in "xyzuv"
    for group, text in (("de", f"{a}-{b}"), ("fr", f"{b}-{a}"), ("cs", f"{a}{a}"))
)
MANY = (
    "train transformer data.train=many.tsv data.test=many.tsv writer.start=group writer.share_tokenizer=true "
    "writer.metric=bleu "
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
    told = here("evaluate many --int8", capsys)
    assert told.code == 0, told.err
    assert "8-bit weights cost" in told.out
    scores = json.loads(here("evaluate many --int8 --json", capsys).out)["scores"]
    assert scores["int8"]["loss"] == pytest.approx(scores["all"]["loss"], abs=0.05)
    assert scores["int8"]["loss"] != scores["all"]["loss"]
    cost = scores["all"]["bleu"] - scores["int8"]["bleu"]
    assert f"8-bit weights cost {cost:.2f} BLEU" in told.out
    Path("in.txt").write_text("ax\nby\n")
    lines = [here(f"translate many in.txt --to de --scores {option}", capsys).out for option in ("", "--int8")]
    assert lines[0].count("\n") == lines[1].count("\n") == 2
    assert lines[0] != lines[1]
    plain, rounded = ([math.log(float(line.split("%\t")[0])) for line in text.splitlines()] for text in lines)
    assert rounded == pytest.approx(plain, abs=0.2)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    off = here("translate many in.txt --int8", capsys)
    assert (off.code, off.err.count("\n")) == (2, 1)


def test_not_every_system_has_weights_of_8_bits(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = here("evaluate run --int8", capsys)
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


def test_runs_are_compared_by_length(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.tsv").write_text("".join(f"{'a ' * (i % 8 + 1)}\t{'b' * (i % 8 + 1)}\n" for i in range(40)))
    train = TRAIN.replace("good.tsv", "own.tsv") + " writer.metric=bleu --quiet"
    assert here(f"{train} --out one", capsys).code == 0
    assert here(f"{train} --out two train.steps=1 train.seed=4", capsys).code == 0
    told = json.loads(here("compare one two --samples 10 --lengths --json", capsys).out)
    alone = json.loads(here("evaluate two --lengths --json", capsys).out)["lengths"]
    assert told["lengths"]["two"] == alone
    answer = here("compare one two --samples 10 --lengths --out c.svg", capsys)
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines() if line.startswith("  ") and line.split()[:1] == ["3"]]
    one, two = (told["lengths"][name][2]["bleu"] for name in ("one", "two"))
    assert rows == [["3", "5", f"{one:.2f}", f"{two:.2f}", f"({two - one:+.2f})".replace("-", "−")]]
    drawing = Path("c.svg").read_text()
    assert drawing.count("on all") == 2
    assert f"two · {told['runs']['two']['bleu']:.2f} on all" in drawing
    assert told["signature"] in drawing
    assert "by words of the source" not in here("compare one two --samples 10", capsys).out


def test_runs_are_compared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here(f"{TRAIN} --out other train.seed=5 train.steps=2", capsys).code == 0
    sources = [line.split("\t")[0] for line in EXAMPLES.splitlines()]
    texts = {name: [str(one) for one in load_run(name).predict(sources)] for name in ("run", "other")}
    references = [text.strip() or "nothing" for text in texts["run"]]  # so that there is something to choose between them
    Path("good.tsv").write_text("".join(f"{pair[0]}\t{pair[1]}\n" for pair in zip(sources, references, strict=True)))
    told = json.loads(here("compare run other --samples 50 --json", capsys).out)
    assert told["examples"] == 56
    assert told["runs"] == paired_bootstrap(texts, references, "13a", 50)
    assert list(told["runs"]) == ["run", "other"]
    assert told["runs"]["run"]["p"] is None
    assert told["runs"]["run"]["bleu"] > told["runs"]["other"]["bleu"]
    shown = here("compare run other --samples 50 --beam 2", capsys).out
    assert shown.count("BLEU") == 2
    assert "reference" in shown
    assert here("compare run", capsys).code == 2


def test_each_run_is_scored_by_what_it_writes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order in which they are named, with the tokens that the first is scored by."""
    words = "writer.bleu_tokenize=char train.steps=20 train.learning_rate=0.02 --quiet"
    for name, seed in (("one", 1), ("two", 2)):
        assert here(f"{TRAIN} {words} --out {name} train.seed={seed}", capsys).code == 0
    told = json.loads(here("compare two one --samples 20 --json", capsys).out)
    sources, references = zip(*(line.split("\t") for line in EXAMPLES.splitlines()), strict=True)
    expected = {}
    for name in ("two", "one"):
        texts = [str(one) for one in load_run(name).predict(sources)]
        expected[name] = sacrebleu.corpus_bleu(texts, [list(references)], tokenize="char", force=True).score
    assert {name: row["bleu"] for name, row in told["runs"].items()} == pytest.approx(expected)
    assert expected["two"] != expected["one"]
    assert [row["p"] is None for row in told["runs"].values()] == [True, False]
    assert "|tok:char|" in told["signature"]


def test_a_comparison_is_printed_as_it_is(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"bleu": 31.256, "mean": 31.304, "interval": 1.252, "p": None},
        {"bleu": 32.5, "mean": 32.48, "interval": 0.75, "p": 0.0312},
    ]
    monkeypatch.setattr(
        translating, "paired_bootstrap", lambda texts, *given: dict(zip(("run", "other"), rows, strict=True))
    )
    lines = [line.split() for line in here("compare run run --samples 1200", capsys).out.splitlines()]
    assert lines[0][:6] == ["56", "test", "examples,", "1,200", "samples,", "95"]
    assert lines[1] == ["run", "BLEU", "31.26", "(31.30", "±", "1.25)"]
    assert lines[2] == ["other", "BLEU", "32.50", "(32.48", "±", "0.75)", "p", "=", "0.0312"]


def test_runs_of_other_data_are_compared_with_a_note(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("turned.tsv").write_text("".join(f"{line.split()[1]}\t{line.split()[0]}\n" for line in EXAMPLES.splitlines()))
    assert here(f"{TRAIN.replace('good.tsv', 'turned.tsv')} --out turned", capsys).code == 0
    answer = here("compare run turned --samples 10", capsys)
    assert answer.code == 0
    assert answer.err.startswith("note: turned: trained on other data than run (data.train = ")
    assert "turned.tsv" in answer.err
    assert here("compare run run --samples 10", capsys).err == ""


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
