"""Stories as they are typed, held and encoded."""

import json
from pathlib import Path

import pytest
import torch

from saccade.data.examples import Example, Splits, Story
from saccade.data.tokenizers import Config as TokensConfig
from saccade.errors import DataError, UsageError
from saccade.readers.story import Config, Reader

TOLD = ("Mary is in the garden.", "John went home.", "Mary left.")
STORY = Story(TOLD, "Where is Mary?", (0, 2))


def reader(**given: int) -> Reader:
    return Reader.fit(Config(**given), TokensConfig(kind="word", lower=True), Splits([Example(STORY)], [], []), ["garden"])


def none() -> Splits:
    return Splits([Example(STORY)], [], [Example(STORY, "garden")])


def test_statements_stand_below_each_other_and_questions_behind_them() -> None:
    own = reader()
    batch = own.encode([STORY, Story((), "home?"), Story(TOLD[:1], "Who left?")]).batch([0, 1, 2])
    assert (batch.counts.tolist(), batch.most) == ([3, 0, 1], 3)
    texts = [own.tokenizer.decode(row[:size].tolist()) for row, size in zip(batch.tokens, batch.lengths, strict=True)]
    bare = ["mary is in the garden", "john went home", "mary left"]
    assert texts[:4] == [*bare, bare[0]]
    assert texts[4] == "where is mary"
    alone = own.encode([STORY]).batch([0])
    assert torch.equal(batch.tokens[:3, : alone.tokens.shape[1]], alone.tokens[:3])


def test_a_long_story_keeps_its_end() -> None:
    own = reader(max_statements=2)
    assert own.read(STORY) == TOLD[1:]
    axis = own.axes(Example(STORY))["input"]
    assert (list(axis.labels), list(axis.marked)) == ([*TOLD[1:]], [1])
    assert own.sizes()["statements"] == 2


def test_a_memory_has_as_many_places_as_the_longest_story_learned_has_statements(tmp_path: Path) -> None:
    own = reader(max_statements=50)
    assert own.sizes()["statements"] == 3
    own.save(tmp_path)
    assert Reader.load(Config(), tmp_path).sizes()["statements"] == 3
    (tmp_path / "memory.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="how many statements"):
        Reader.load(Config(), tmp_path)


@pytest.mark.parametrize(
    "typed",
    [
        "\n".join([*TOLD, "Where is Mary?"]),
        " ".join([*TOLD, "Where is Mary?"]),
        json.dumps({"story": TOLD, "question": "Where is Mary?"}),
        {"story": TOLD, "question": "Where is Mary?"},
        STORY,
    ],
)
def test_a_story_may_be_held_in_many_ways(typed: object) -> None:
    found = reader().parse(typed, none)
    assert found is not None
    assert (found.input.statements, found.input.question) == (TOLD, "Where is Mary?")


def test_an_example_may_be_named_and_an_empty_text_is_none() -> None:
    assert reader().parse("test#0", none) == Example(STORY, "garden")
    assert reader().parse("  ", none) is None


def test_what_is_no_story_is_told() -> None:
    with pytest.raises(DataError, match=r"expected a question after 'Mary is here.', got the end of the story; end it with"):
        reader().parse("Mary is here.", none)
    with pytest.raises(UsageError, match="one question, got 2; give a list"):
        reader().parse("Mary is here. Where is Mary? John left. Where is John?", none)
    with pytest.raises(DataError, match="which is no JSON"):
        reader().parse("{story", none)
    with pytest.raises(UsageError, match="expected a story"):
        reader().parse(3, none)
    with pytest.raises(DataError, match="nothing to look at"):
        reader().axes(Example(Story((), "why?")))


def test_lines_become_stories_as_they_come() -> None:
    lines = iter([*TOLD, "Where is Mary?"])
    found = reader().gathered(lines)
    assert next(iter(found)).input.statements == TOLD


def test_files_of_records_are_listed_and_others_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"story": TOLD, "question": "Where is Mary?"}), encoding="utf-8")
    assert [one.input.question for one in reader().listed(str(path)) or []] == ["Where is Mary?"]
    assert reader().listed(str(tmp_path / "a.txt")) is None


def test_a_word_is_known_by_its_number() -> None:
    own = reader()
    assert own.word("Garden") == own.tokenizer.encode("garden")[0]
    assert own.word("garden,home") is None
    assert own.word("elephant") is None
