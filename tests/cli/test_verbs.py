"""What every verb does when all is well, on a small run."""

import contextlib
import io
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from saccade import config, recipes, systems
from saccade.cli import verbs
from saccade.data.known import known
from saccade.training.settings import resolve
from saccade.view.trace_file import load
from saccade.writers import text

from .commands import EXAMPLES, SMALL, TRAIN, Answer, apart, here

VERBS = ["train", "evaluate", "predict", "generate", "look", "systems", "recipes", "config", "doctor"]
VERBS += ["data", "data show", "data get", "data sample", "vectors", "import", "export"]


def fed(command: str, stdin: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answer:
    """The command in this process, with this standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
    return here(command, capsys)


def test_train_leaves_a_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"{TRAIN} --out new", capsys)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "done: new at step 6"
    assert "saccade evaluate new" in answer.out
    assert "2,628 parameters · 53 training examples, 3 for validation · 6 steps of up to 400 tokens" in answer.err
    names = {path.name for path in (place / "new").iterdir()}
    assert names == {
        ".lock",
        "checkpoints",
        "config.toml",
        "configs.jsonl",
        "env.json",
        "log.jsonl",
        "tokenizer.json",
        "target.tokenizer.json",
    }
    kept = {path.name for path in (place / "new" / "checkpoints").iterdir()}
    assert kept == {"step-00000003", "step-00000006", "LAST", "BEST"}
    events = [json.loads(line) for line in (place / "new" / "log.jsonl").read_text().splitlines()]
    assert [(event["event"], event["step"]) for event in events if event["event"] == "valid"] == [("valid", 3), ("valid", 6)]


def test_written_config_is_the_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = place / "run" / "config.toml"
    settings = resolve(config.read(written))
    assert config.write(settings.table()) == written.read_text(encoding="utf-8")
    assert here("train run/config.toml --out again --quiet", capsys).code == 0
    assert here("train run --out third --quiet", capsys).code == 0
    for again in ("again", "third"):
        assert (place / again / "config.toml").read_bytes() == written.read_bytes()
        for name in ("model.safetensors", "state.json"):
            step = f"checkpoints/step-00000006/{name}"
            assert (place / again / step).read_bytes() == (place / "run" / step).read_bytes()


def test_default_directory_has_the_recipes_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("run/config.toml", "mine.toml")
    assert here("train mine.toml --quiet train.steps=1", capsys) == Answer(0, "", "")
    assert here("train bahdanau data.train=good.tsv --quiet train.steps=1 model.hidden_size=4", capsys).code == 0
    assert sorted(path.name for path in (place / "runs").iterdir()) == ["bahdanau", "mine"]


def test_train_for_machines(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"{TRAIN} --out new --json", capsys)
    assert answer.err == ""
    assert answer.out == (place / "new" / "log.jsonl").read_text()
    assert {json.loads(line)["event"] for line in answer.out.splitlines()} == {"step", "valid"}


@pytest.mark.parametrize("way", ["train run --resume", f"{TRAIN} --out run --resume"])
def test_resume_of_a_finished_run_changes_nothing(way: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (place / "run" / "log.jsonl").read_text()
    answer = here(way, capsys)
    assert answer.code == 0
    assert "going on from step 6" in answer.err
    assert (place / "run" / "log.jsonl").read_text() == before


def test_fresh_begins_anew(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run" / "notes.txt").write_text("mine")
    assert here(f"train bahdanau data.train=good.tsv {SMALL} train.steps=2 --out run --fresh --quiet", capsys).code == 0
    assert [path.name for path in place.glob("run/checkpoints/step-*")] == ["step-00000002"]
    assert (place / "run" / "notes.txt").read_text() == "mine"
    assert here("train run --fresh --quiet", capsys).code == 0


def test_resume_passes_over_a_damaged_checkpoint(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run" / "checkpoints" / "step-00000006" / "model.safetensors").write_bytes(b"")
    answer = here("train run --resume", capsys)
    assert answer.code == 0
    assert "passed over a damaged checkpoint: run/checkpoints/step-00000006" in answer.err
    assert "going on from step 3" in answer.err
    assert here("evaluate run", capsys).code == 0


def test_evaluate(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("evaluate run", capsys)
    assert answer.err == ""
    assert answer.out.splitlines()[0] == "run at step 6, test, greedy search"
    assert answer.out.splitlines()[2].split()[:2] == ["all", "56"]
    told = json.loads(here("evaluate run --json search.method=beam search.beam=3", capsys).out)
    assert (told["run"], told["step"], told["data"]) == ("run", 6, "test")
    assert (told["search"]["method"], told["search"]["beam"]) == ("beam", 3)
    assert told["scores"]["all"]["examples"] == 56
    assert 0 <= told["scores"]["all"]["exact_match"] <= 1 < told["scores"]["all"]["loss"]


LABELED = {"accuracy": 0.8125, "macro_f1": 0.7654, "loss": 0.5432, "calibration_error": 0.0321}
WRITTEN = {"exact_match": 0.0625, "loss": 1.2345}


@pytest.mark.parametrize(
    ("part", "cells"),
    [
        (LABELED, {"accuracy": "81.25%", "macro-F1": "76.54%", "loss": "0.5432", "calibration error": "3.21%"}),
        ({"auc": 0.9, "instance_auc": 0.875}, {"AUC": "0.9000", "instance AUC": "0.8750"}),
        (
            {"accuracy": 0.8125, "chance": 0.2, "loss": -0.0},
            {"accuracy": "81.25%", "accuracy by chance": "20.00%", "loss": "0.0000"},
        ),
        ({"exact_match": 0.0625, "mae": 0.125}, {"exact match": "6.25%", "mean absolute error": "0.1250"}),
        (
            {"mrr": 0.25, "recall_10": 0.5, "recall_100": 0.75},
            {"mean reciprocal rank": "0.2500", "recall@10": "50.00%", "recall@100": "75.00%"},
        ),
        ({**WRITTEN, "perplexity": 3.4366}, {"exact match": "6.25%", "loss": "1.2345", "perplexity": "3.437"}),
        (
            {**WRITTEN, "bleu": 31.256, "chrf": 54.321},
            {"exact match": "6.25%", "loss": "1.2345", "BLEU": "31.26", "chrF": "54.32"},
        ),
    ],
)
def test_scores_are_printed_as_a_table(
    part: dict[str, float],
    cells: dict[str, str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores = {"all": {"examples": 1234, **part}, "one": {"examples": 4, "loss": 0.25}}
    monkeypatch.setattr(text.Writer, "score", lambda *given: scores)
    head, whole, one = (re.split(r" {2,}", line.strip()) for line in here("evaluate run", capsys).out.splitlines()[1:4])
    assert head == ["examples", *dict.fromkeys([*cells, "loss"])]
    assert whole == ["all", "1,234", *cells.values()]
    assert one == ["one", "4", "0.2500"]
    assert json.loads(here("evaluate run --json", capsys).out)["scores"] == scores


def test_what_rounded_weights_cost_is_what_is_lost(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = iter([{"examples": 4, "exact_match": 0.75, "loss": 1.0}, {"examples": 4, "exact_match": 0.5, "loss": 2.0}])
    monkeypatch.setattr(text.Writer, "score", lambda *given: {"all": next(rows)})
    monkeypatch.setattr(verbs, "resting", lambda model, precision: contextlib.nullcontext())
    shown = here("evaluate run --precision int8", capsys).out
    assert "weights of int8 cost 25.00 exact match" in shown
    assert [line.split()[:2] for line in shown.splitlines()[2:4]] == [["all", "4"], ["int8", "4"]]


def test_validations_in_the_log_are_what_evaluate_tells(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = [json.loads(line) for line in Path("run/log.jsonl").read_text().splitlines()]
    for entry in (line for line in log if line["event"] == "valid"):
        told = json.loads(here(f"evaluate run --split valid --checkpoint {entry['step']} --json", capsys).out)
        assert told["scores"]["all"] == pytest.approx(entry["scores"]["all"], rel=1e-5)


@pytest.mark.parametrize(("split", "part"), [("test", "test"), ("train", "training")])
def test_evaluate_says_that_data_has_changed(split: str, part: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here(f"evaluate run --split {split}", capsys).err == ""
    with (place / "good.tsv").open("a") as file:
        file.write("one\tmore\n")
    answer = here(f"evaluate run --split {split}", capsys)
    assert (answer.code, answer.err) == (0, f"the {part} data (good.tsv) of run has changed since the training\n")


def test_evaluate_other_data_and_checkpoints(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.tsv").write_text("axa\ta-x\tone\nbyb\tb-y\ttwo\naya\ta-y\ttwo\n")
    scores = json.loads(here("evaluate run --json --data other.tsv", capsys).out)["scores"]
    assert {name: part["examples"] for name, part in scores.items()} == {"all": 3, "one": 1, "two": 2}
    splits = {split: here(f"evaluate run --split {split} --json", capsys).out for split in ("train", "valid", "test")}
    counts = [json.loads(told)["scores"]["all"]["examples"] for told in splits.values()]
    assert counts == [53, 3, 56]
    steps = {
        which: json.loads(here(f"evaluate run --json --checkpoint {which}", capsys).out)
        for which in ("3", "6", "last", "average")
    }
    assert [told["step"] for told in steps.values()] == [3, 6, 6, 6]
    assert steps["3"]["scores"] != steps["6"]["scores"]


def test_evaluate_reads_the_fields_the_run_knows(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line.split("\t") for line in EXAMPLES.splitlines()]
    Path("own.jsonl").write_text("".join(json.dumps({"von": a, "nach": b}) + "\n" for a, b in rows))
    data = "data.train=own.jsonl data.text=von data.label=nach"
    assert here(f"train bahdanau {data} {SMALL} train.average=2 --out own -q", capsys).code == 0
    answer = here("evaluate own --data own.jsonl", capsys)
    assert answer.out.startswith("own at step 6, the mean of the last 2 checkpoints, own.jsonl")
    assert here("evaluate own --data own.jsonl --checkpoint last", capsys).out.startswith("own at step 6, own.jsonl")


def test_predict_keeps_order_and_empty_lines(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["axa", "", "a much longer line of text", "b", "", "hwh"]
    answer = fed("predict run", "\n".join(texts).encode(), monkeypatch, capsys)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.split("\n")
    assert len(lines) == len(texts) + 1
    assert lines[1] == lines[4] == lines[6] == ""
    assert fed("predict run", b"", monkeypatch, capsys) == Answer(0, "", "")
    alone = [fed("predict run", text.encode() + b"\n", monkeypatch, capsys).out for text in texts]
    assert "".join(alone) == answer.out


def test_predict_reads_lines_as_they_come(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = fed("predict run --scores", b"axa\nbyb\n", monkeypatch, capsys).out
    windows = b"\xef\xbb\xbfaxa\r\nbyb\r\n"
    assert fed("predict run --scores", windows, monkeypatch, capsys).out == plain
    Path("windows.txt").write_bytes(windows)
    assert here("predict run windows.txt --scores", capsys).out == plain
    assert here("predict run - --scores", capsys).code == 0
    strange = "a\0b\n日本語 שלום\n\x1b[31m\u202e\n\u2028\x85\x0b\n".encode()
    answer = fed("predict run", strange, monkeypatch, capsys)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.count("\n") == 4


def test_predict_says_how_sure_it_is(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = fed("predict run --n-best 3 --scores", b"axa\n\nbyb\n", monkeypatch, capsys)
    columns = [line.split("\t") for line in answer.out.splitlines()]
    assert len(columns) == 3 + 3 + 3  # an empty line gives as many as any other, so that lines can be counted off
    assert columns[3:6] == 3 * [["-", ""]]
    assert all(0 < float(score.removesuffix("%")) < 100 for score, _ in columns[:3] + columns[6:])
    assert len({text for _, text in columns[:3]}) == 3
    told = [
        json.loads(line) for line in fed("predict run --n-best 2 --json", b"axa\n\n", monkeypatch, capsys).out.splitlines()
    ]
    assert [len(found) for found in told] == [2, 2]
    assert set(told[0][0]) == {"text", "log_prob", "finished"}
    assert told[1] == 2 * [{"text": "", "log_prob": 0.0, "finished": True}]
    setting = fed("predict run search.method=beam search.n_best=2 --json", b"axa\n", monkeypatch, capsys)
    assert json.loads(setting.out) == told[0]


def test_look_in_the_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("look run axa 'b\x1b[31my' --no-color", capsys)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.count("attention · down: output (characters) · across: input (characters)") == 2
    assert "\x1b" not in answer.out
    assert "\x1b[48;2;" in here("look run axa --color", capsys).out
    assert max(map(len, here(f"look run {'ab' * 20} --width 20", capsys).out.splitlines())) <= 20
    assert here("look run axa --n-best 3 --look attention --head 0", capsys).out.count("log_prob") == 3


def test_look_into_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("look run axa -o a.svg -o a.png -o a.html -o a.trace", capsys)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.split() == ["a.svg", "a.png", "a.html", "a.trace"]
    assert Path("a.svg").read_text().startswith("<svg")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "<!doctype html>" in Path("a.html").read_text().lower()
    scene = load(Path("a.trace")).scenes[0]
    assert scene.axes["input"].labels == ["a", "x", "a"]
    assert scene.looks[0].weights.shape == (1, len(scene.axes["output"].labels), 3)
    assert scene.looks[0].weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert here("look run axa byb -o b.svg", capsys).out.split() == ["b-1.svg", "b-2.svg"]


@pytest.mark.parametrize("verb", ["systems", "recipes", "data", "doctor"])
def test_listings(verb: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(verb, capsys)
    assert (answer.code, answer.err) == (0, "")
    told = json.loads(here(f"{verb} --json", capsys).out)
    names = {
        "systems": lambda: [entry["name"] for entry in told],
        "recipes": lambda: [entry["name"] for entry in told],
        "data": lambda: [entry["name"] for entry in told["data"]],
        "doctor": lambda: list(told),
    }[verb]()
    expected = {"systems": "bahdanau", "recipes": "dates", "data": "multi30k", "doctor": "kernels"}[verb]
    assert expected in names
    assert all(name in answer.out for name in names)


def test_systems_are_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in json.loads(here("systems --json", capsys).out):
        assert all(entry[key] for key in ("paper", "reads", "attends", "writes", "reader", "writer")), entry


def test_data_is_where_it_is_said_to_be(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(here("data --json", capsys).out)["directory"] == str(place / "data")
    assert json.loads(here("data --data-dir elsewhere --json", capsys).out)["directory"] == "elsewhere"
    assert "nothing to download" in here("data get dates", capsys).out


def test_data_names_what_is_expected_where_and_what_is_missing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for line in here("data", capsys).out.splitlines()]
    where = place / "data" / "ptb"
    expected = lines.index(f"3 files in {where}: ptb.test.txt, ptb.train.txt, ptb.valid.txt")
    assert lines[expected + 1] == "missing: all"
    assert sum("files in" in line or "file in" in line for line in lines) == len(known()) - 2  # all but dates and movies
    where.mkdir(parents=True)
    (where / "ptb.test.txt").write_bytes(bytes(449945))  # its size, but not its content
    (where / "ptb.valid.txt").write_bytes(b"cut")
    lines = [line.strip() for line in here("data", capsys).out.splitlines()]
    assert "missing: ptb.train.txt" in lines
    assert "damaged: ptb.valid.txt" in lines
    shown = here("data show ptb", capsys).out.splitlines()
    assert [line.split() for line in shown[-3:]] == [
        ["damaged", "449.9", "kB", str(where / "ptb.test.txt")],
        ["missing", "5.1", "MB", str(where / "ptb.train.txt")],
        ["damaged", "399.8", "kB", str(where / "ptb.valid.txt")],
    ]
    told = json.loads(here("data show ptb --json", capsys).out)
    assert [file["status"] for file in told["files"]] == ["damaged", "missing", "damaged"]
    assert "no files" in here("data show dates", capsys).out
    assert here("data show ptbb", capsys).code == 2


def test_data_sample(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = "data.train_size=9 data.valid_size=9 data.test_size=9 data.locales=de_DE data.untagged=0"
    answer = here(f"data sample dates {sizes} -n 3", capsys)
    assert (answer.code, answer.err) == (0, "")
    rows = [line.split("\t") for line in answer.out.splitlines()]
    assert len(rows) == 3
    assert all(source.startswith("<de_DE> ") and group == "tagged" for source, _, group in rows)
    own = here("data sample bahdanau data.train=good.tsv -n 2 --split train", capsys)
    assert own.out == "axa\ta-x\naya\ta-y\n"


def test_systems_name_their_reader_and_writer(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in json.loads(here("systems --json", capsys).out):
        module = systems.load(entry["name"])
        assert (entry["reader"], entry["writer"]) == (module.READS, module.WRITES)
    shown = here("systems", capsys).out
    assert [line.split() for line in shown.split("gpt2\n")[1].splitlines()[4:6]] == [
        ["reader", "text"],
        ["writer", "continuation"],
    ]


@pytest.mark.parametrize("name", ["dates", "gat-cora", "gpt2", "transformer"])
def test_config_has_the_sections_that_the_system_uses_each_with_a_heading(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = here(f"config {name}", capsys).out
    headed = re.findall(r"\n# .*\n\[(\w+)\]\n", shown)
    assert headed == [section for section in tomllib.loads(shown) if section != "system"]


@pytest.mark.parametrize("name", recipes.names())
def test_config_says_what_differs_from_the_defaults(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever puts all the defaults that are told into the place of the values has the bare system on this data."""
    shown = here(f"config {name}", capsys).out
    plain = tomllib.loads(re.sub(r"(?m)^(\w+) = .*; default: (.*)$", r"\1 = \2", shown))
    bare = resolve({"system": plain["system"], "data": {"name": plain["data"]["name"]}}).table()
    assert plain == json.loads(json.dumps(bare))


def test_config_is_a_recipe_with_meanings(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("dates", "run"):
        answer = here(f"config {name} train.steps=77", capsys)
        table = tomllib.loads(answer.out)
        assert table == json.loads(here(f"config {name} train.steps=77 --json", capsys).out)
        assert table["train"]["steps"] == 77
        assert re.search(r"# Number of updates\.\nsteps = 77  # whole number > 0; default: \d+\n", answer.out)
        assert "weight_decay = 0.0  # number >= 0; default\n" in answer.out
        Path("mine.toml").write_text(answer.out)
        assert here("config mine.toml", capsys).out == answer.out.replace(
            f"saccade train {name} ", "saccade train mine.toml "
        )


@pytest.mark.parametrize("verb", ["", *VERBS])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(verb: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"{verb} {option}", capsys)
    assert (answer.code, answer.err) == (0, "")
    assert f"Usage: saccade {verb}".strip() in answer.out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import saccade

    assert here("--version", capsys) == Answer(0, f"saccade {saccade.__version__}\n", "")


def test_predict_as_users_run_it(place: Path) -> None:
    answer = apart("predict run --n-best 2 --json", stdin="axa\n\nbé日b\n")
    assert (answer.code, answer.err) == (0, "")
    assert [len(json.loads(line)) for line in answer.out.splitlines()] == [2, 2, 2]


@pytest.mark.parametrize(
    "verb", ["predict run in.txt", "evaluate run --split valid", "look run axa", "translate run in.txt"]
)
def test_a_damaged_newest_checkpoint_is_told(verb: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "in.txt").write_text("axa\n")
    assert here(f"{verb} --checkpoint last", capsys).err == ""
    (place / "run" / "checkpoints" / "step-00000006" / "model.safetensors").write_bytes(b"")
    answer = here(f"{verb} --checkpoint last", capsys)
    assert answer.code == 0
    assert answer.err.startswith("passed over a damaged checkpoint: run/checkpoints/step-00000006/model.safetensors")
    assert answer.err.count("\n") == 1


def test_a_loss_that_grows_far_beyond_its_beginning_is_told_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("reviews.tsv").write_text("".join(f"word{n % 7} it is {n}\t{'ab'[n % 2]}\n" for n in range(40)))
    words = "train document_attention data.train=reviews.tsv train.steps=20 train.threads=1 train.valid_every=20"
    answer = here(f"{words} train.learning_rate=1e6 train.warmup=0 --out high", capsys)
    assert answer.err.count("; a lower train.learning_rate (1e+06) may help") == 1, answer.err
    assert "may help" not in here(f"{words} train.learning_rate=1e-3 --out low", capsys).err


def test_a_file_and_settings_in_the_wrong_place_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("train bahdanau own.tsv", capsys)
    assert answer.err.endswith("got 'own.tsv'; for example train.steps=500\n")
    Path("own.tsv").write_text("a\tb\n")
    assert here("train bahdanau own.tsv", capsys).err.endswith("got 'own.tsv'; did you mean data.train=own.tsv?\n")
    answer = here("train data.train=own.tsv", capsys)
    assert answer.err.endswith("; such as: document_attention data.train=own.tsv\n")
