"""Facts in both directions, and those that a question may be about."""

from pathlib import Path

import pytest

from saccade.data.examples import Example, Fact, Facts, Question, Splits
from saccade.data.tokenizers import Config as TokensConfig
from saccade.errors import DataError
from saccade.readers.facts import Config, Reader, words_of

FACTS = Facts(
    (
        Fact("Red Hill", "shot by", "Ada Fox"),
        Fact("Red Hill", "year", "1994"),
        Fact("The Hill", "shot by", "Bo Fox"),
        Fact("Some", "year", "1994"),
    )
)


def reader(**given: int) -> Reader:
    asked = [Example(Question("who shot Red Hill?"), "Ada Fox"), Example(Question("from which year is it?"), "1994")]
    return Reader.fit(Config(**given), TokensConfig(kind="word", lower=True), Splits(asked, [], [], shared=FACTS), [])


def found(text: str, **given: int) -> list[str]:
    own = reader(**given)
    return [str(own.facts[number]) for number in own.candidates(text)]


def test_a_name_finds_its_own_facts_in_both_directions() -> None:
    assert found("who shot red hill?") == ["Red Hill · shot by · Ada Fox", "Red Hill · year · 1994"]
    assert found("what did Ada Fox shoot?") == ["Ada Fox · shot by⁻¹ · Red Hill"]
    assert found("what is from 1994?") == ["1994 · year⁻¹ · Red Hill", "1994 · year⁻¹ · Some"]


def test_a_part_of_a_name_finds_all_that_have_it_and_stop_words_find_nothing() -> None:
    assert found("what did fox do?") == ["Ada Fox · shot by⁻¹ · Red Hill", "Bo Fox · shot by⁻¹ · The Hill"]
    assert found("what is the?") == []
    assert found("which year was some?") == ["Some · year · 1994"]
    assert words_of("The Hill of the Fox") == ["hill", "fox"]
    assert words_of("Some") == ["some"]


def test_words_of_very_many_facts_and_facts_beyond_the_limit_are_left_out() -> None:
    assert found("what did fox do?", max_shared=1) == []
    assert found("what is from 1994?", max_facts=1) == ["1994 · year⁻¹ · Red Hill"]


def test_names_are_one_token_and_keys_are_not_values() -> None:
    own = reader()
    batch = own.encode([Question("who shot Red Hill?"), Question("nothing?")]).batch([0, 1])
    assert (batch.counts.tolist(), batch.most) == ([2, 0], 2)
    assert batch.tokens[0, :2].tolist() == [own.word("Red Hill"), own.word("shot by")]
    assert batch.values[:, 0].tolist() == [own.word("Ada Fox"), own.word("1994")]
    asked = batch.tokens[2, : int(batch.lengths[2])].tolist()
    assert asked == [*own.tokenizer.encode("who shot"), own.word("red hill")]
    assert own.sizes()["source"].size == own.tokenizer.size + len(own.names)


def test_facts_stay_with_the_run(tmp_path: Path) -> None:
    own = reader()
    own.save(tmp_path)
    again = Reader.load(Config(), tmp_path)
    assert again.facts == own.facts
    assert again.names == own.names
    (tmp_path / "facts.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(DataError, match="a list of facts"):
        Reader.load(Config(), tmp_path)


def test_right_facts_are_marked_in_a_picture() -> None:
    example = reader().parse("who shot Red Hill?", lambda: Splits([], [], []))
    assert example is not None
    axis = reader().axes(Example(example.input, "Ada Fox\nBo Fox"))["input"]
    assert list(axis.marked) == [0]
    with pytest.raises(DataError, match="shares no word"):
        reader().axes(Example(Question("nothing?")))
