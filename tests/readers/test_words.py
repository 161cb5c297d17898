"""Words of texts: up to a maximum, with their letters, in any order and company; and how much each word was."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import Example, Splits
from saccade.errors import DataError, UsageError
from saccade.readers.words import Reader
from saccade.task import Task
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions, settings

SYSTEM = "document_attention"
SIZES = ("model.embedding_size=8", "model.hidden_size=6", "tokens.size=100")
EXAMPLES = [
    Example("a good film", "2", "short"),
    Example("a bad film with no end to its length", "10", "long"),
    Example("good and bad", "2", "short"),
    Example("the end is good , the rest is not", "1"),
]


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, EXAMPLES, *SIZES, *words)


def model(task: Task) -> object:
    return made_tasks.model(SYSTEM, task, *SIZES)


@pytest.mark.parametrize("spelling", [0, 1])
def test_a_reader_comes_back_from_the_run(spelling: int, tmp_path: Path) -> None:
    task = fitted(f"reader.spelling={spelling}")
    task.save(tmp_path)
    again = Task.load(settings(SYSTEM, *SIZES, f"reader.spelling={spelling}"), tmp_path)
    assert again.sizes() == task.sizes()
    assert set(task.sizes()) == {"source", "labels", *(["ngrams"] if spelling else [])}
    for reader in (task.reader, again.reader):
        assert list(reader.encode(["a good film", "unheard of"]).rows) == [reader.tokenizer.encode("a good film"), [3, 3]]
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
        Task.load(settings(SYSTEM, *SIZES), tmp_path)


@pytest.mark.parametrize("budget", [1, 10, 20_000])
def test_predictions_come_in_the_order_of_the_texts(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader, "budget", budget)
    task = fitted()
    made, texts = model(task), [one.input for one in EXAMPLES] + ["", "unseen words here"]
    together = predictions(task, made, texts, options(2))
    assert [len(found) for found in together] == [2] * len(texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = predictions(task, made, [text], options(3))
        assert [one.text for one in alone[:2]] == [one.text for one in found]
        assert found[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-5)
        assert sum(one.probability for one in alone) == pytest.approx(1, abs=1e-5)
    best = task.best(made, EXAMPLES, options())
    assert [one.text for one in best] == [found[0].text for found in together[: len(EXAMPLES)]]
    assert [one.example for one in best] == EXAMPLES


def test_what_is_too_long_is_not_read() -> None:
    task = fitted("reader.max_length=3")
    short, long = predictions(task, model(task), ["a good film", "a good film with no end"])
    assert short[0].log_prob == pytest.approx(long[0].log_prob, abs=1e-6)


@pytest.mark.parametrize(("most", "count"), [(2, 4), (3, 2), (8, 2), (9, 0)])
def test_what_is_not_read_is_told(most: int, count: int) -> None:
    task, heard = fitted(f"reader.max_length={most}"), list[str]()
    task.prepare(model(task), Splits(EXAMPLES, [], []), task.corpus(EXAMPLES), heard.append)
    told = f"{count} of 4 texts are longer than reader.max_length={most} tokens: the rest of them is not read"
    assert heard == ([told] if count else [])


def test_a_picture_says_how_much_each_word_was() -> None:
    task = fitted()
    made, text = model(task), "the end is good"
    ((example, found),) = task.predict(made, [text], options(2, looks=True), nothing)
    assert example is not None
    scenes = [task.scene(made, example, one) for one in task.writer.shown(found)]
    assert len(scenes) == 2
    for drawn in scenes:
        assert list(drawn.axes["input"].labels) == ["the", "end", "is", "good"]
        assert [(look.name, look.queries, look.keys) for look in drawn.looks] == [("attention pooling", "output", "input")]
        assert drawn.looks[0].weights.sum() == pytest.approx(1, abs=1e-5)
    (beside, _) = predictions(task, made, [text, EXAMPLES[1].input], options(looks=True))
    np.testing.assert_allclose(beside[0].looks[0].weights[..., :4], found[0].looks[0].weights, atol=1e-5)
    assert list(task.reader.axes(Example("the zyx is good"))["input"].unknown) == [1]
    with pytest.raises(DataError, match="no tokens"):
        task.reader.axes(Example(""))


def test_letters_stand_beside_the_words_that_they_spell() -> None:
    task = fitted("reader.spelling=1", "reader.max_length=3")
    letters = task.reader.letters
    assert task.sizes()["ngrams"] == len(letters)
    batch = task.reader.encode(["a goodish film , is it not", "", "film"]).batch([0, 2, 1])
    assert batch.tokens.shape == batch.spelling.shape[:2] == (3, 3)
    for text, row in zip(["a goodish film", "film", ""], batch.spelling.tolist(), strict=True):
        spelled = [letters.numbers(word) for word in text.split()]
        assert [[run for run in word if run] for word in row] == spelled + [[]] * (3 - len(spelled))


def test_an_unknown_word_is_read_by_its_letters_alone_as_among_others() -> None:
    task = fitted("reader.spelling=1")
    made, words = model(task), ["lengthy", "quibble"]
    alone = [predictions(task, made, [word])[0][0].log_prob for word in words]
    assert abs(alone[0] - alone[1]) > 1e-3
    among = predictions(task, made, ["a film", *words, "the end is good"])[1:3]
    assert [one.log_prob for (one,) in among] == pytest.approx(alone, abs=1e-5)


def test_only_the_training_data_is_learned() -> None:
    task = made_tasks.fitted(SYSTEM, Splits(EXAMPLES, [Example("valid", "2")], [Example("test", "2")]), *SIZES)
    unknown = task.reader.tokenizer.vocabulary.unknown
    assert task.reader.tokenizer.encode("valid test film")[:2] == [unknown, unknown]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="expected text, got int"):
        fitted().reader.parse(7, nothing)
