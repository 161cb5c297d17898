"""Questions about movies: what is tested was not asked in training, and can be found."""

from collections.abc import Sequence

import pytest

from saccade.data.examples import Fact
from saccade.data.sets.movies import ASKED, Config, facts, load
from saccade.data.tokenizers import Config as TokensConfig
from saccade.errors import UsageError
from saccade.readers.facts import Config as ReaderConfig
from saccade.readers.facts import Reader, turned

SMALL = Config(films=30)


def test_there_are_a_thousand_facts_in_ten_relations() -> None:
    known = facts(Config())
    assert len(known.rows) == 1000
    assert {fact.relation for fact in known.rows} == {*ASKED}
    assert known == facts(Config())
    assert known != facts(Config(seed=1))
    with pytest.raises(UsageError, match="at most 100"):
        Config(films=101)


def test_no_test_question_and_no_new_fact_is_asked_in_training() -> None:
    splits = load(SMALL)
    trained = {one.input.text for one in splits.train}
    for part in (splits.valid, splits.test):
        assert not trained & {one.input.text for one in part}
        assert {one.group for one in part} == {"new fact", "new wording"}
    # What a question asks for without the words that it is asked in: another wording of the same asks the same.
    same = {text: key for key in _asked(splits.shared.rows) for text in key}
    known = {same[text] for text in trained}
    for one in splits.test:
        assert (same[one.input.text] in known) == (one.group == "new wording"), one.input.text


def _asked(rows: Sequence[Fact]) -> set[tuple[str, ...]]:
    """All wordings of each question that the facts answer."""
    things = {(thing, fact.relation, way) for fact in rows for way, thing in enumerate((fact.subject, fact.object))}
    return {tuple(wording.format(thing) for wording in ASKED[relation][way]) for thing, relation, way in things}


def test_every_test_question_finds_the_facts_that_answer_it() -> None:
    splits = load(SMALL)
    reader = Reader.fit(ReaderConfig(), TokensConfig(kind="word", lower=True), splits, [])
    for one in splits.test:
        found = [reader.facts[number] for number in reader.candidates(one.input.text)]
        for answer in one.target.split("\n"):
            assert any(fact.object == answer and fact.subject in one.input.text for fact in found), one.input.text
        assert len(found) < len(splits.shared.rows) / 2
    assert turned(turned(splits.shared.rows[0])).subject == splits.shared.rows[0].subject
