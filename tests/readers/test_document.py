"""Documents: sentences as they are read, looks on both levels, and the same prediction in any company."""

from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.data.examples import Example, Splits
from saccade.data.stored import store_files
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.stored_examples import Store, StoredExamples
from saccade.errors import DataError
from saccade.readers.document import DocumentColumn, Reader
from saccade.task import Task
from saccade.view.output.display_text import percent
from tests import made_tasks
from tests.data.stored.stores import everything_is_large
from tests.made_tasks import nothing, options, predictions, scene

SYSTEM = "han"
SIZES = ("model.embedding_size=8", "model.hidden_size=5", "model.attention_size=6", "tokens.size=200")
GOOD = (
    "pork belly = delicious . scallops ? i do n't . even . like . scallops , and these were a-m-a-z-i-n-g . "
    "fun and tasty cocktails . next time i 'm in phoenix , i will go back here . highly recommend ."
)
BAD = (
    "terrible value . ordered pasta entree . . $ 16.95 good taste but size was an appetizer size . . "
    "no salad , no bread no vegetable . this was . our and tasty cocktails . our second visit . i will not go back ."
)
EXAMPLES = [Example(GOOD, "4"), Example(BAD, "0"), Example("Good.", "4"), Example("Not good! Not at all.", "0")]


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, EXAMPLES, *SIZES, *words)


def model(task: Task) -> object:
    return made_tasks.model(SYSTEM, task, *SIZES)


def test_the_lecture_s_reviews_are_cut_where_their_sentences_end() -> None:
    column = fitted().reader.encode([GOOD, BAD])
    batch = column.batch([0, 1])
    assert batch.counts.tolist() == [9, 8]
    assert column.lengths.tolist() == [part.sum().item() for part in batch.lengths.split([9, 8])]


def test_a_batch_has_sentences_as_rows() -> None:
    documents = [([5, 6, 7], [2, 1]), ([], []), ([8, 9], [2])]
    column = DocumentColumn(Ragged.of([row for ids, sizes in documents for row in (ids, [0, *sizes])]))
    batch = column.batch([0, 1, 2])
    assert batch.tokens.tolist() == [[5, 6], [7, 0], [8, 9]]
    assert batch.lengths.tolist() == [2, 1, 2]
    assert batch.counts.tolist() == [2, 0, 1]
    assert column.batch([1]).tokens.shape == (0, 1)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"max_sentence_length": 4}, [4, 2, 2, 3]),
        ({"max_sentences": 2}, [6, 2]),
        ({"max_length": 7}, [6, 1]),
        ({"max_length": 6}, [6]),
        ({"max_length": 11, "max_sentences": 3}, [6, 2, 3]),
    ],
    ids=str,
)
def test_what_is_long_is_cut_on_both_levels(keys: dict[str, int], expected: list[int]) -> None:
    text = "one two three four five . six . seven eight ."
    task, heard = fitted(*(f"reader.{key}={value}" for key, value in keys.items())), list[str]()
    column, config = task.reader.encode([text, ""]), task.reader.config
    task.reader.prepare(model(task), Splits([Example(text), Example("")], [], []), column, heard.append)
    limit = f"reader.max_length={config.max_length} tokens or reader.max_sentences={config.max_sentences} sentences"
    told = [f"1 of 2 texts are longer than {limit}: the rest of them is not read"]
    assert heard == (told if sum(expected) < 11 else [])
    assert column.batch([0]).lengths.tolist() == expected
    assert column.batch([1]).counts.tolist() == [0]


def test_stored_documents_are_encoded_once_for_each_way_to_cut_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    texts = [GOOD, "", BAD, "one two three four five . six .", "seven " * 66_000]
    (tmp_path / "store").mkdir()
    store_files.write(tmp_path / "store", [Example(text, "x", files=("a",), number=1) for text in texts], [], [])
    stored = StoredExamples(Store(tmp_path / "store")).inputs
    # The last text is one sentence, longer than there are numbers of two bytes.
    tasks = [fitted(f"reader.max_sentence_length={size}", "reader.max_length=70000") for size in (4, 70_000)]
    for task in tasks:
        listed, kept = task.reader.encode(texts), task.reader.encode(stored)
        assert kept.lengths.tolist() == listed.lengths.tolist()
        assert kept.longer == listed.longer
        chosen = [4, 3, 0, 1] if task is tasks[1] else [3, 0, 1]
        for one, other in zip(vars(kept.batch(chosen)).values(), vars(listed.batch(chosen)).values(), strict=True):
            assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))
    monkeypatch.setattr(Reader, "_documents", lambda *given: pytest.fail("encoded again"))
    assert [len(task.reader.encode(stored).lengths) for task in tasks] == [5, 5]


def test_predictions_depend_on_nothing_but_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader, "budget", 60)
    task = fitted()
    made, texts = model(task), [one.input for one in EXAMPLES] + ["", "unseen words"]
    together = predictions(task, made, texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = predictions(task, made, [text])
        assert found[0].text == alone[0].text
        assert found[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-5)
    assert [one.text for one in task.best(made, EXAMPLES, options())] == [found[0].text for found in together[:4]]


def test_a_picture_shows_words_and_sentences() -> None:
    task = fitted()
    made = model(task)
    drawn = scene(task, made, BAD)
    assert {name: axis.kind for name, axis in drawn.axes.items()} == {
        "input": "words",
        "sentences": "sentences",
        "output": "label",
    }
    words, sentences = drawn.looks
    assert (words.name, words.queries, words.keys) == ("words", "sentences", "input")
    assert (sentences.name, sentences.queries, sentences.keys) == ("sentences", "output", "sentences")
    assert sentences.weights.shape == (1, 1, 8)
    assert sentences.weights.sum() == pytest.approx(1, abs=1e-5)
    assert words.weights.shape == (1, 8, len(drawn.axes["input"].labels))
    np.testing.assert_allclose(words.weights.sum(-1), 1, atol=1e-5)
    assert ((words.weights[0] > 0).sum(0) == 1).all()  # each word is of one sentence
    assert list(drawn.axes["input"].labels[:3]) == ["terrible", "value", "."]
    assert (words.weights[0, 0] > 0).sum() == 3
    assert drawn.axes["sentences"].labels[0] == "terrible value ."
    odd = task.reader.axes(Example("terrible zyx . qqq value ."))["input"]
    assert [odd.labels[place] for place in odd.unknown] == ["zyx", "qqq"]
    known = drawn.axes["output"].probabilities
    assert known is not None
    assert drawn.notes["probability"] == percent(float(known[0]))


def test_a_picture_is_the_same_beside_longer_texts() -> None:
    task = fitted()
    made, texts = model(task), [BAD, "Good.", GOOD]
    for text, (example, found) in zip(texts, task.predict(made, texts, options(looks=True), nothing), strict=True):
        assert example is not None
        alone, beside = scene(task, made, text), task.scene(made, example, found[0])
        for one, other in zip(alone.looks, beside.looks, strict=True):
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


def test_a_text_without_tokens_has_nothing_to_look_at() -> None:
    with pytest.raises(DataError, match="no tokens"):
        fitted().reader.axes(Example(" "))
