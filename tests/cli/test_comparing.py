"""Runs are compared by their own metric, with the test that fits it; what cannot be held against each other is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

from saccade.cli import comparing
from saccade.errors import UsageError
from saccade.evaluation.metrics import METRICS
from saccade.evaluation.significance import BOOTSTRAP, MCNEMAR, compare_values, mcnemar
from saccade.evaluation.text_scores import paired_bootstrap, text_metric
from saccade.exchange.opening import load as load_run
from saccade.training.progress import Quiet
from saccade.training.settings import Settings
from saccade.training.train import train
from saccade.writers.writer import Prediction
from tests.training import small

from .commands import EXAMPLES, TRAIN, here

Pairs = Callable[[str], tuple[Path, Path]]
BLEU = f"{TRAIN} writer.metric=bleu --quiet"


def test_runs_are_compared_by_length(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.tsv").write_text("".join(f"{'a ' * (i % 8 + 1)}\t{'b' * (i % 8 + 1)}\n" for i in range(40)))
    own = BLEU.replace("good.tsv", "own.tsv")
    assert here(f"{own} --out one", capsys).code == 0
    assert here(f"{own} --out two train.steps=1 train.seed=4", capsys).code == 0
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
    assert f"two · {told['runs']['two']['score']:.2f} on all" in drawing
    assert told["signature"] in drawing
    assert "by words of the source" not in here("compare one two --samples 10", capsys).out


@pytest.mark.parametrize("metric", ["bleu", "chrf", "exact_match"])
def test_texts_are_compared(metric: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, words in (("one", ""), ("other", "train.seed=5 train.steps=2")):
        assert here(f"{BLEU} {words} --out {name}", capsys).code == 0
    sources = [line.split("\t")[0] for line in EXAMPLES.splitlines()]
    texts = {name: [str(found) for found in load_run(name).predict(sources)] for name in ("one", "other")}
    references = [text.strip() or "nothing" for text in texts["one"]]  # so that there is something to choose between them
    Path("good.tsv").write_text("".join(f"{pair[0]}\t{pair[1]}\n" for pair in zip(sources, references, strict=True)))
    answer = here(f"compare one other --samples 50 --json --metric {metric}", capsys)
    told = json.loads(answer.out)
    assert "the test data (good.tsv) of one has changed since the training" in answer.err
    assert (told["examples"], told["metric"]) == (56, metric)
    assert list(told["runs"]) == ["one", "other"]
    assert told["runs"]["one"]["p"] is None
    assert told["runs"]["one"]["score"] > told["runs"]["other"]["score"]
    if metric != "exact_match":
        assert told["test"] == BOOTSTRAP
        assert told["runs"] == paired_bootstrap(texts, [[one] for one in references], text_metric(metric, "13a"), 50)
    else:
        assert told["test"] == MCNEMAR
    shown = here(f"compare one other --samples 50 --beam 2 --metric {metric}", capsys).out
    assert shown.startswith(f"{METRICS[metric].label} on 56 test examples of one; {told['test']}, 50 samples")
    assert "\n  target" in shown
    assert here("compare one", capsys).code == 2


def test_each_run_is_scored_by_what_it_writes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order in which they are named, with the tokens that the first is scored by."""
    words = "writer.bleu_tokenize=char train.steps=20 train.learning_rate=0.02"
    for name, seed in (("one", 1), ("two", 2)):
        assert here(f"{BLEU} {words} --out {name} train.seed={seed}", capsys).code == 0
    told = json.loads(here("compare two one --samples 20 --json", capsys).out)
    sources, references = zip(*(line.split("\t") for line in EXAMPLES.splitlines()), strict=True)
    expected = {}
    for name in ("two", "one"):
        texts = [str(one) for one in load_run(name).predict(sources)]
        expected[name] = sacrebleu.corpus_bleu(texts, [list(references)], tokenize="char", force=True).score
    assert {name: row["score"] for name, row in told["runs"].items()} == pytest.approx(expected)
    assert expected["two"] != expected["one"]
    assert [row["p"] is None for row in told["runs"].values()] == [True, False]
    assert "|tok:char|" in told["signature"]


# Of each kind of output its own metric, and the test that fits it.
OWN = {
    "sentences": ("accuracy", MCNEMAR),
    "graph": ("accuracy", MCNEMAR),
    "outlier": ("accuracy", MCNEMAR),
    "numbers": ("mae", BOOTSTRAP),
    "expansion": ("mrr", BOOTSTRAP),
    "windows": ("loss", BOOTSTRAP),
    "hidden": ("loss", BOOTSTRAP),
    "answers": ("answer_f1", MCNEMAR),  # each of these is found, or nothing of it
    "tags": ("accuracy", BOOTSTRAP),
    "captions": ("cider", BOOTSTRAP),
    "stories": ("accuracy", MCNEMAR),
    "facts": ("accuracy", MCNEMAR),
    "bits": ("bits_per_sequence", BOOTSTRAP),
}
FURTHER = {
    "sentences": "macro_f1",
    "numbers": "exact_match",
    "expansion": "recall_100",
    "windows": "perplexity",
    "hidden": "perplexity",
    "captions": "bleu_1",
    "bits": "bit_error",
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """Two runs of each kind, trained once: one much longer than the other."""
    known: dict[str, tuple[Path, Path]] = {}

    def of(kind: str) -> tuple[Path, Path]:
        if kind not in known:
            folder = tmp_path_factory.mktemp(kind)
            made = small.KINDS[kind](folder)
            train(folder / "one", made, Quiet())
            train(folder / "two", _longer(made), Quiet())
            known[kind] = folder / "one", folder / "two"
        return known[kind]

    return of


def _longer(settings: Settings) -> Settings:
    return replace(settings, train=replace(settings.train, steps=15, seed=1))


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("kind", OWN)
def test_every_kind_of_run_is_compared_by_its_own_metric(
    kind: str, pairs: Pairs, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = pairs(kind)
    metric, test = OWN[kind]
    told = json.loads(here(f"compare {one} {two} --split valid --samples 30 --json", capsys).out)
    assert (told["metric"], told["test"]) == (metric, test)
    for path in (one, two):
        scores = load_run(path).evaluate("valid")["all"]
        assert told["runs"][str(path)]["score"] == pytest.approx(scores[metric], rel=1e-5)
    row = told["runs"][str(two)]
    assert row["difference"] == pytest.approx(row["score"] - told["runs"][str(one)]["score"])
    assert 0 < row["p"] <= 1
    if kind in FURTHER:
        words = f"--split valid --samples 30 --metric {FURTHER[kind]}"
        further = json.loads(here(f"compare {one} {two} {words} --json", capsys).out)
        expected = load_run(two).evaluate("valid")["all"][FURTHER[kind]]
        assert further["runs"][str(two)]["score"] == pytest.approx(expected, rel=1e-5)
    answer = here(f"compare {one} {two} --split valid --samples 30", capsys)
    assert answer.code == 0
    assert answer.err == ""
    assert "p: how often two equally good runs would differ" in answer.out


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize(
    ("kinds", "words", "told"),
    [
        (("sentences", "numbers"), "", "expected runs with the same kind of output"),
        (("sentences", "bags"), "", "expected runs with the same kind of input"),
        (
            ("sentences", "sentences"),
            "--metric bleu",
            "expected what document_attention is compared by, accuracy or",
        ),
        (("sentences", "sentences"), "--metric loss", "accuracy or macro_f1 or auc, got 'loss'"),
        (("windows", "windows"), "--metric bleu", "loss or perplexity, got 'bleu'"),
        (("sentences", "sentences"), "--beam 3", "searches for nothing"),
    ],
)
def test_what_means_nothing_is_refused(
    kinds: tuple[str, str],
    words: str,
    told: str,
    pairs: Callable[[str], tuple[Path, Path]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, two = pairs(kinds[0])[0], pairs(kinds[1])[1]
    answer = here(f"compare {one} {two} --split valid {words}", capsys)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert told in answer.err


@pytest.mark.usefixtures("put_back")
def test_captions_are_compared_by_what_they_are_scored_by(pairs: Pairs) -> None:
    model = load_run(pairs("captions")[0])
    examples = list(model.splits.valid)
    values = model.task.writer.outcomes("rouge_l", examples, [Prediction(one.target) for one in examples])
    assert values is not None
    assert values.tolist() == pytest.approx([100.0] * len(examples))


@pytest.mark.usefixtures("put_back")
def test_losses_of_other_hidden_tokens_are_refused(pairs: Pairs) -> None:
    one, other = (load_run(path) for path in pairs("hidden"))
    other.task.writer.config = replace(other.task.writer.config, masked_share=0.5)
    with pytest.raises(UsageError, match="the same tokens and lengths that a loss is counted in, got one and other"):
        comparing._require_alike({"one": one, "other": other})


def test_a_test_of_one_example_shows_no_difference() -> None:
    values: Any = {"one": np.array([0.5]), "other": np.array([0.7])}
    _, rows = compare_values(values, 20)
    assert rows["other"]["difference"] == pytest.approx(0.2)
    assert rows["other"]["p"] == 1.0


def test_a_comparison_is_printed_as_it_is() -> None:
    rows: dict[str, dict[str, float | None]] = {
        "a": {"score": 31.256, "mean": 31.304, "interval": 1.252, "difference": None, "p": None},
        "b": {"score": 32.5, "mean": 32.48, "interval": 0.75, "difference": 1.244, "p": 0.0312},
        "c": {"score": 30.0, "mean": 30.0, "interval": 0.75, "difference": -1.256, "p": 0.25},
    }
    lines = [line.split("  ") for line in comparing.table(rows, METRICS["bleu"])]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[0] == ["run", "BLEU", "95 % interval", "difference", "p"]
    assert cells[1] == ["a", "31.26", "30.05 … 32.56"]
    assert cells[2] == ["b", "32.50", "31.73 … 33.23", "+1.24", "0.0312", "better"]
    assert cells[3] == ["c", "30.00", "29.25 … 30.75", "−1.26", "0.2500", "no difference shown"]
    assert cells[-1] == ["each p is of one pair alone: of 2 pairs, call a difference one below 0.05 / 2"]
    share: dict[str, float | None] = {"score": 0.99, "mean": 0.98, "interval": 0.03, "difference": 0.5, "p": 1e-9}
    (_, _, sure, *_) = comparing.table({"a": rows["a"], "b": share}, METRICS["accuracy"])
    assert sure.split()[1:] == ["99.00%", "95.00%", "…", "100.00%", "+50.00%", "<", "0.0001", "better"]
    (_, _, worse, *_) = comparing.table({"a": rows["a"], "b": rows["b"]}, METRICS["loss"])
    assert worse.endswith("worse")


def test_runs_of_other_data_are_compared_with_a_note(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("turned.tsv").write_text("".join(f"{line.split()[1]}\t{line.split()[0]}\n" for line in EXAMPLES.splitlines()))
    Path("copy.tsv").write_text(EXAMPLES)
    assert here(f"{TRAIN.replace('good.tsv', 'turned.tsv')} --out turned", capsys).code == 0
    assert here(f"{TRAIN.replace('good.tsv', 'copy.tsv')} --out copied", capsys).code == 0
    answer = here("compare run turned --samples 10", capsys)
    assert answer.code == 0
    assert answer.err.startswith("note: turned: trained on other data than run (data.train = ")
    assert "turned.tsv" in answer.err
    assert here("compare run run --samples 10", capsys).err == ""
    assert here("compare run copied --samples 10", capsys).err == ""  # another name, the same examples


def test_runs_are_compared_on_other_data(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.tsv").write_text("".join(f"{line}\n" for line in EXAMPLES.splitlines()[:7]))
    answer = here("compare run run --data other.tsv --samples 10", capsys)
    assert answer.out.splitlines()[0].endswith("on 7 examples of other.tsv; exact McNemar test, 10 samples")
    told = json.loads(here("compare run run --data other.tsv --samples 10 --json", capsys).out)
    assert (told["split"], told["examples"]) == ("other.tsv", 7)


def test_equal_runs_do_not_differ(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here("compare run run --samples 10 --json", capsys).out)["runs"]
    assert list(told) == ["run (1)", "run (2)"]
    assert (told["run (2)"]["difference"], told["run (2)"]["p"]) == (0.0, 1.0)
    values: Any = np.array([1.0, 0.0])
    assert mcnemar(values, values) == 1.0
