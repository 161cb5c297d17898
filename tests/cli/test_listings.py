"""Numbers that listings tell: rows of tables, sizes of data, and what this machine has, each counted otherwise."""

import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import saccade
from saccade.data import known
from saccade.data.known import known as all_known
from saccade.training.settings import base, keys, kinds, resolve

from .commands import here

RECIPES = Path(saccade.__file__).parent / "recipes"
UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def test_tables_have_so_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    told = {entry["name"]: entry["rows"] for entry in json.loads(here("reproduce --list --json", capsys).out)}
    files = {path.stem: len(tomllib.loads(path.read_text())["row"]) for path in (RECIPES / "tables").glob("*.toml")}
    assert told == files


@pytest.mark.parametrize("name", ["dates", "gat-cora", "transformer"])
def test_config_is_a_recipe_of_itself(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my.toml").write_text(here(f"config {name}", capsys).out, encoding="utf-8")
    assert resolve(base(str(tmp_path / "my.toml"))) == resolve(base(name))


def test_config_says_what_may_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    head, _, body = here("config transformer train.learning_rate=0.02 search.method=beam", capsys).out.partition("system =")
    assert "# presets: model.preset=" in head
    assert "train.learning_rate=0.02" in head
    assert (
        "# exports (saccade export RUN DIR --format …): marian, ct2, onnx; bert, gpt2, roberta, xlnet: not for transformer\n"
        in head
    )
    for line in (
        'optimizer = "adam"  # adam | adamw | sgd | rmsprop; default\n',
        "learning_rate = 0.02  # number > 0; default: ",
        "dropout = ",
        "momentum = 0.9  # has no effect with train.optimizer=adam",
        'score = "scaled_dot"  # dot | scaled_dot | additive | ',
        'normalize = "softmax"  # softmax | kernel | none | sparsemax | ',
        "temperature = 1.0  # says nothing to search.method=beam; default\n",
        "\nbeam = 4  # whole number > 0 and <= 1000; default\n",
    ):
        assert line in body
    train = body.partition("[train]")[2]
    assert train.index("learning_rate =") < train.index("# Less often:") < train.index("optimizer =")


def test_config_says_what_stands_in_the_way_of_an_export(capsys: pytest.CaptureFixture[str]) -> None:
    told = here("config transformer model.norm=pre model.mixer=light", capsys).out
    assert "none; marian needs model.norm=post and model.mixer=attention; ct2 needs model.mixer=attention; onnx " in told
    assert "): onnx; bert, gpt2, marian, roberta, xlnet, ct2: not for gat\n" in here("config gat-cora", capsys).out


def test_help_of_training_names_keys_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    told = re.findall(r"\b([a-z]+\.[a-z_]+)=", here("train --help", capsys).out)
    known = {key for system in ("transformer", "luong") for key in keys(kinds(system, "text_files"))}
    assert {"train.learning_rate", "train.batch_size", "train.epochs", "model.dropout"} <= {*told} <= {*known, "section.key"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train dates --lr 1e-3", "no such option --lr: settings are words without dashes, train.learning_rate=VALUE"),
        ("train dates --num-train-epochs=3", "train.epochs=VALUE"),
        ("train dates --fp16", "train.precision=VALUE"),
        ("train dates --start runs/x", "no such option --start: it is a word without dashes, start=RUN"),
        ("predict run --num-beams 3", "search.beam=VALUE"),
        ("evaluate run --batch-size 3", "No such option: --batch-size"),
    ],
)
def test_options_of_other_toolkits(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(words, capsys)
    assert (answer.code, told in answer.err, answer.err.count("\n")) == (2, True, 1), answer.err
    assert ("VALUE" in told) == ("VALUE" in answer.err)


def test_a_data_set_is_as_large_as_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(here(f"data --data-dir {tmp_path} --json", capsys).out)["data"]
    for item, row in zip(all_known().values(), rows, strict=True):
        size = sum(file.bytes for file in item.files)
        assert row["name"] == item.name
        if item.files:
            number, unit = row["size"].split()
            assert float(number) * UNITS[unit] == pytest.approx(size, abs=0.06 * UNITS[unit])
        assert len(row["missing"]) == len(row["files"]) == len(item.files)


def test_the_doctor_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5 * 2**30))
    monkeypatch.setattr(known, "table", lambda directory: [{"name": name, "status": state} for name, state in
                        (("a", "here"), ("b", "missing"), ("c", "here"), ("d", "generated"))])  # fmt: skip
    told = json.loads(here(f"doctor --data-dir {tmp_path} --json", capsys).out)
    assert told["cores"] == os.cpu_count()
    assert told["threads"] == torch.get_num_threads()
    assert told["data directory"] == f"{tmp_path} (2 data sets here; see: saccade data)"
    assert told["free disk"].startswith("5.0 GB in ")
    monkeypatch.setattr(known, "table", lambda directory: [])
    assert "(no data sets here" in json.loads(here(f"doctor --data-dir {tmp_path} --json", capsys).out)["data directory"]
