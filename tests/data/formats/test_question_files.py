"""Questions with texts and answers: tables, lists of answers, and the file that SQuAD is published as."""

import json
from pathlib import Path

import pytest

from saccade.data.examples import Example, Pair
from saccade.data.formats.question_files import Config, columns_of, load, read
from saccade.errors import DataError, UsageError

TEXT = "The dog sat, and the dog ran."


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "start"),
    [
        ("a.csv", f'question,context,answer\nwho ?,"{TEXT}",dog\n', 4),
        ("a.csv", f'question,context,answer,start\nwho ?,"{TEXT}",dog,21\n', 21),
        ("a.tsv", f"question\tcontext\tanswer\nwho ?\t{TEXT}\tdog\n", 4),
        (
            "a.jsonl",
            json.dumps({"question": "who ?", "context": TEXT, "answers": {"text": ["dog"], "answer_start": [21]}}),
            21,
        ),
    ],
)
def test_questions_come_in_columns(name: str, text: str, start: int, tmp_path: Path) -> None:
    assert read(written(tmp_path / name, text), Config()) == [Example(Pair("who ?", TEXT, start), "dog")]


def test_squads_own_file_is_read_with_all_answers_and_with_none(tmp_path: Path) -> None:
    answers = [{"text": "dog", "answer_start": 21}, {"text": "the dog", "answer_start": 17}]
    asked = [{"question": "who ?", "answers": answers}, {"question": "why ?", "answers": []}]
    whole = {"version": "1", "data": [{"title": "a", "paragraphs": [{"context": TEXT, "qas": asked}]}]}
    found = read(written(tmp_path / "a.json", json.dumps(whole)), Config())
    assert found == [Example(Pair("who ?", TEXT, 21), "dog\nthe dog"), Example(Pair("why ?", TEXT), "")]
    kept = "".join(json.dumps(columns_of(one, Config())) + "\n" for one in found)
    assert read(written(tmp_path / "b.jsonl", kept), Config()) == found


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (f'who ?,"{TEXT}",cat,', "expected the answer 'cat' in the context, got "),
        (f'who ?,"{TEXT}",dog,3', "expected the answer 'dog' in the context at 3, got ' dog sat"),
        (f'who ?,"{TEXT}",dog,x', "expected a place in the context, counted from 0, got 'x'"),
        ("who ?,,dog,3", "expected the answer 'dog' in the context at 3"),
    ],
)
def test_answers_that_do_not_stand_there_are_refused(row: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        read(written(tmp_path / "a.csv", f"question,context,answer,start\n{row}\n"), Config())


def test_questions_on_one_text_are_held_out_together(tmp_path: Path) -> None:
    rows = "".join(f"q{n},text {n % 10} dog,dog\n" for n in range(50))
    splits = load(Config(train=written(tmp_path / "a.csv", f"question,context,answer\n{rows}"), held_out=0.2))
    assert not {one.input.second for one in splits.train} & {one.input.second for one in splits.valid}
    assert len(splits.valid) == 10
    with pytest.raises(UsageError, match=r"data\.train: expected a file, got nothing"):
        load(Config())
