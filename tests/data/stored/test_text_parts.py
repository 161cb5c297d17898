"""A tokenizer is learned once from the same stored texts and settings, and is the one that is learned from a list."""

from pathlib import Path
from typing import Any

import pytest

from saccade.data import tokenizers
from saccade.data.examples import Example
from saccade.data.stored import store_files
from saccade.data.stored.running_texts import RunningTexts
from saccade.data.stored.stored_examples import Store, StoredExamples
from saccade.data.stored.text_parts import TextParts, are_stored, name_of_learned, spread
from saccade.data.tokenizers import Config

from .stores import everything_is_large

PAIRS = [Example(f"Satz {n} <de>", f"sentence {n}\nof {n}", files=("a",), number=n) for n in range(9)]


def stored(folder: Path, examples: list[Example]) -> StoredExamples:
    folder.mkdir()
    store_files.write(folder, examples, [], [])
    return StoredExamples(Store(folder))


def test_learned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    examples, config = stored(tmp_path / "store", PAIRS), Config(kind="bpe", size=290)
    texts = TextParts(examples.inputs, TextParts(examples.targets, ["<fr>"]))
    listed = tokenizers.train([*(one.input for one in PAIRS), *(one.target for one in PAIRS), "<fr>"], config)
    assert tokenizers.train(texts, config).text() == listed.text()
    again: Any = TextParts(stored(tmp_path / "other", PAIRS).inputs, TextParts(examples.targets, ["<fr>"]))
    monkeypatch.setattr(tokenizers, "_learned_from", lambda *given: pytest.fail("learned again"))
    assert tokenizers.train(again, config).text() == listed.text()
    with pytest.raises(pytest.fail.Exception, match="learned again"):
        tokenizers.train(texts, Config(kind="bpe", size=291))


def test_what_a_tokenizer_is_known_by(tmp_path: Path) -> None:
    examples = stored(tmp_path / "store", PAIRS)
    few: Any = examples[:5]
    parts = [
        examples.inputs,
        examples.targets,
        few.inputs,
        RunningTexts(examples).pieces,
        TextParts(examples.inputs, examples.targets),
        TextParts(examples.targets, examples.inputs),
        TextParts(examples.inputs, ["a"]),
        TextParts(examples.inputs, ["b"]),
    ]
    assert all(map(are_stored, parts))
    assert len({name_of_learned(texts, fact) for texts in parts for fact in (1, 2)}) == 2 * len(parts)
    assert not are_stored(TextParts(["a"], TextParts(["b"])))


def test_of_very_many_texts_byte_pairs_are_learned_from_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same one every time, of inputs and targets alike; what is not stored, and every mark, is counted whole."""
    everything_is_large(monkeypatch, tmp_path / "cache")
    pairs = [Example(f"links{n}", f"rechts{n}" + " <rare>" * (n == 77), files=("a",), number=n) for n in range(100)]
    examples = stored(tmp_path / "store", pairs)
    texts: Any = TextParts(examples.inputs, TextParts(examples.targets, ["eigen"]))
    assert spread(texts, 200) is texts
    some = list(spread(texts, 50))
    assert some == list(spread(texts, 50))
    assert some[-1] == "eigen"
    left, right = some[:25], some[25:-1]
    numbers = [int(text.removeprefix("links")) for text in left]
    assert [number // 4 for number in numbers] == list(range(25))
    assert len({number % 4 for number in numbers}) > 1  # not every fourth: texts may alternate
    assert [text.split()[0] for text in right] == [f"rechts{number}" for number in numbers]
    monkeypatch.setattr(tokenizers, "ENOUGH", 50)
    learned = tokenizers.train(texts, Config(kind="bpe", size=300))
    assert learned.marks == ["rare"]
    assert 77 not in numbers
    assert learned.text() == tokenizers.train([*some, "<rare>"], Config(kind="bpe", size=300)).text()
