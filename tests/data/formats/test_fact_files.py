"""Facts in tables of three columns, and questions with one answer or several."""

from pathlib import Path

import pytest

from saccade.data.examples import Fact, Question
from saccade.data.formats.fact_files import Config, load, questions_in
from saccade.errors import DataError, UsageError

ROWS = ["Red Hill,shot by,Ada Fox", "Moon,shot by,Bo Bird", "The Sun,shot by,Ada Fox", "Moon,shot by,Bo Bird"]
FACTS = "\n".join(["subject,relation,object", *ROWS, ""])
QUESTIONS = (
    "question,answer\nwho shot Moon?,Bo Bird\nwhat did Ada Fox shoot?,Red Hill | The Sun\nwho shot Red Hill?,Ada Fox\n"
)


def config(folder: Path, facts: str = FACTS, questions: str = QUESTIONS) -> Config:
    (folder / "facts.csv").write_text(facts, encoding="utf-8")
    (folder / "my.csv").write_text(questions, encoding="utf-8")
    return Config(facts=str(folder / "facts.csv"), train=str(folder / "my.csv"), valid=str(folder / "my.csv"))


def test_facts_are_shared_and_all_their_names_may_be_answers(tmp_path: Path) -> None:
    splits = load(config(tmp_path))
    assert splits.shared.rows[0] == Fact("Red Hill", "shot by", "Ada Fox")
    assert len(splits.shared.rows) == 3
    assert splits.labels == ("Red Hill", "Ada Fox", "Moon", "Bo Bird", "The Sun")
    assert splits.train[0].input == Question("who shot Moon?")


def test_each_of_several_answers_is_learned_and_a_question_is_scored_once(tmp_path: Path) -> None:
    splits = load(config(tmp_path))
    assert [one.target for one in splits.train] == ["Bo Bird", "Red Hill\nThe Sun", "The Sun\nRed Hill", "Ada Fox"]
    assert [one.target for one in splits.valid] == ["Bo Bird", "Red Hill\nThe Sun", "Ada Fox"]


@pytest.mark.parametrize(
    ("facts", "questions", "told"),
    [
        (FACTS, "question,answer\nwho?,Nobody\n", "answer 'Nobody' is no subject or object of a fact"),
        (FACTS, "question,answer\nwho?, | \n", "expected an answer, got nothing"),
        ("subject,relation\na,b\n", QUESTIONS, "facts.csv"),
        ("subject,relation,object\n", QUESTIONS, "facts.csv"),
    ],
)
def test_what_is_wrong_is_told(facts: str, questions: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        load(config(tmp_path, facts, questions))


def test_both_files_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"data\.facts: expected a file"):
        load(Config(train="x.csv"))
    with pytest.raises(UsageError, match=r"data\.train: expected a file"):
        load(Config(facts="x.csv"))


def test_questions_come_from_tables_and_plain_lines(tmp_path: Path) -> None:
    config(tmp_path)
    assert next(iter(questions_in(str(tmp_path / "my.csv")) or [])) == "who shot Moon?"
    assert questions_in(str(tmp_path / "my.txt")) is None
