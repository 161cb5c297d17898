"""Stories in bAbI's format, without numbers, and as JSON; what is wrong in them."""

import json
from pathlib import Path

import pytest

from saccade.data.examples import Example, Story
from saccade.data.formats.story_files import Config, load, of_lines, of_record, read
from saccade.errors import DataError, UsageError

BABI = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel went back to the hallway.
5 Where is Daniel? \thallway\t4
1 Sandra left the milk.
2 What is there?\tmilk,apple\t1
"""


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_question_has_the_statements_before_it_and_not_the_questions(tmp_path: Path) -> None:
    first, second, third = read(written(tmp_path / "qa.txt", BABI), Config())
    told = ("Mary moved to the bathroom.", "John went to the hallway.")
    assert first == Example(Story(told, "Where is Mary?", (0,)), "bathroom", name="Where is Mary?")
    assert second.input == Story((*told, "Daniel went back to the hallway."), "Where is Daniel?", (2,))
    assert (third.input.statements, third.target) == (("Sandra left the milk.",), "milk,apple")
    assert second.where().endswith("qa.txt:5")


def test_typed_lines_need_no_numbers_and_no_answers() -> None:
    lines = ["a is b.", "c is d.", "what is a?", "e is f.", "what is e?", "", "g is h.", "what is g?"]
    found = list(of_lines(lines))
    assert [one.input.statements for one in found] == [
        ("a is b.", "c is d."),
        ("a is b.", "c is d.", "e is f."),
        ("g is h.",),
    ]
    assert [one.target for one in found] == ["", "", ""]


def test_a_record_is_a_story_too(tmp_path: Path) -> None:
    record = {"story": ["a  is b.", "c is d."], "question": "what is a?", "answer": "b", "supporting": [1]}
    (found,) = read(written(tmp_path / "my.jsonl", json.dumps(record) + "\n\n"), Config())
    assert found.input == Story(("a is b.", "c is d."), "what is a?", (0,))
    assert found.target == "b"
    assert of_record({"story": [], "question": "why?"}, "here").input == Story((), "why?")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.txt", "1 a is b.\n2 what is a?\n", "a.txt:2: expected a question with a TAB and its answer"),
        ("a.txt", "1 a is b.\n2 what is a?\tb\t7\n", "a.txt:2: expected numbers of earlier statements"),
        ("a.jsonl", "nonsense\n", "a.jsonl:1: expected JSON"),
        ("a.jsonl", '{"story": "a", "question": "b"}\n', "a.jsonl:1: expected story, a list of texts"),
        ("a.jsonl", '{"story": ["a"], "question": "b", "answer": "c", "supporting": [2]}\n', "numbers from 1 to 1"),
        ("a.jsonl", '{"story": ["a"], "question": "b"}\n', "got no answer"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(name: str, text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        read(written(tmp_path / name, text), Config())


def test_questions_on_one_story_are_held_out_together(tmp_path: Path) -> None:
    stories = "".join(
        f"1 {name} is here.\n2 who?\t{n % 2}\n3 {name} goes.\n4 who?\t{n % 2}\n" for n, name in enumerate("abcdefgh")
    )
    splits = load(Config(train=written(tmp_path / "qa.txt", stories), held_out=0.3))
    first = [{one.input.statements[0] for one in part} for part in (splits.train, splits.valid)]
    assert len(splits.valid) == 4
    assert not first[0] & first[1]
    with pytest.raises(UsageError, match=r"data\.train: expected a file"):
        load(Config())


@pytest.mark.parametrize("lines", [["Mary left.", "", "John left.", "Who left?"], ["Who left?", "", "John left."]])
def test_a_story_that_asks_nothing_is_refused(lines: list[str]) -> None:
    with pytest.raises(DataError, match=r"my\.txt:\d: expected a question after '\w+ left\.'"):
        list(of_lines(lines, "my.txt"))


def test_what_follows_the_last_question_may_be_left_out() -> None:
    (found,) = of_lines(["Mary left.", "Who left?", "John left."])
    assert found.input.statements == ("Mary left.",)
