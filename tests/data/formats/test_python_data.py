"""Data that Python holds becomes files of the run and keys of [data]."""

import json
from pathlib import Path

import pandas
import pytest

from saccade.data.formats.python_data import kept
from saccade.errors import UsageError

PAIRS = [("a", 1), ("b", 2)]


def test_files_are_named_as_they_are_given() -> None:
    assert kept("my.tsv", "text_files") == ({"train": "my.tsv"}, {})
    assert kept(Path("my.tsv"), "bag_files") == ({"train": "my.tsv"}, {})
    table = {"train": "my.tsv", "held_out": 0.1, "skip_bad": True}
    assert kept(table, "text_files") == (table, {})
    known = {"locales": ["de_DE"], "valid": 0.2, "test": 100}
    assert kept(known, "text_files") == (known, {})


def test_rows_are_kept_as_json_lines_under_the_names_of_their_columns() -> None:
    frame = pandas.DataFrame({"review": ["ä", "b"], "stars": [1, 2], "more": [[1], [2]]})
    keys, files = kept({"train": frame, "validation": PAIRS, "test": "test.csv", "label": "stars"}, "text_files")
    assert keys == {"train": "data.train.jsonl", "valid": "data.valid.jsonl", "test": "test.csv", "label": "stars"}
    assert files.keys() == {"data.train.jsonl", "data.valid.jsonl"}
    assert files["data.train.jsonl"] == '{"text": "ä", "stars": "1"}\n{"text": "b", "stars": "2"}\n'
    assert kept(PAIRS, "text_files")[1]["data.train.jsonl"] == '{"text": "a", "label": "1"}\n{"text": "b", "label": "2"}\n'
    grouped = kept([("a", "x", "de")], "text_files")[1]["data.train.jsonl"]
    assert json.loads(grouped) == {"text": "a", "label": "x", "group": "de"}


def test_running_text_is_a_text_in_each_row() -> None:
    for given in (["one", "two"], [{"text": "one"}, {"text": "two"}], pandas.DataFrame({"text": ["one", "two"]})):
        assert kept(given, "running_text")[1] == {"data.train.jsonl": '{"text": "one"}\n{"text": "two"}\n'}


def test_what_a_system_cannot_read_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a file, since this system reads no plain texts, got list"):
        kept(PAIRS, "image_files")


@pytest.mark.parametrize(
    ("own", "row", "kept_as"),
    [
        ("pair_files", {"text": "a", "pair": "b", "label": 1}, {"text": "a", "pair": "b", "label": "1"}),
        ("pair_files", {"text": "a", "label": "x"}, {"text": "a", "label": "x"}),
        ("tagged_files", {"tokens": ["a", "b"], "tags": ["O", "X"]}, {"text": "a b", "label": "O X"}),
        (
            "question_files",
            {"question": "q", "context": "a b", "answer": "b"},
            {"question": "q", "context": "a b", "answer": ["b"], "start": [2]},
        ),
    ],
)
def test_pairs_labels_of_words_and_questions_are_kept(own: str, row: dict[str, object], kept_as: dict[str, object]) -> None:
    _, files = kept([row], own)
    assert json.loads(files["data.train.jsonl"]) == kept_as
