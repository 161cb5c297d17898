"""Numbers that listings tell: rows of tables, sizes of data, and what this machine has, each counted otherwise."""

import json
import os
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import saccade
from saccade.data import known
from saccade.data.known import known as all_known

from .commands import here

RECIPES = Path(saccade.__file__).parent / "recipes"
UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def test_tables_have_so_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    told = {entry["name"]: entry["rows"] for entry in json.loads(here("reproduce --list --json", capsys).out)}
    files = {path.stem: len(tomllib.loads(path.read_text())["row"]) for path in (RECIPES / "tables").glob("*.toml")}
    assert told == files


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
