"""Documents to labels: sentences as they are read, looks on both levels, and the same answer in any company."""

import numpy as np
import pytest
import torch
from saccade.tasks.document_to_label import Config, Task

from saccade.data import tokenizers
from saccade.data.examples import Pair, Splits
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.systems.han import Config as ModelConfig
from saccade.systems.han import Model
from saccade.view.trace import check

GOOD = (
    "pork belly = delicious . scallops ? i do n't . even . like . scallops , and these were a-m-a-z-i-n-g . "
    "fun and tasty cocktails . next time i 'm in phoenix , i will go back here . highly recommend ."
)
BAD = (
    "terrible value . ordered pasta entree . . $ 16.95 good taste but size was an appetizer size . . "
    "no salad , no bread no vegetable . this was . our and tasty cocktails . our second visit . i will not go back ."
)
PAIRS = [Pair(GOOD, "4"), Pair(BAD, "0"), Pair("Good.", "4"), Pair("Not good! Not at all.", "0")]


def fitted(**keys: object) -> Task:
    config = Config(**keys)  # type: ignore[arg-type]
    return Task.fit(config, tokenizers.Config(kind="word", size=200), Splits(PAIRS, [], []))  # type: ignore[return-value]


def model(task: Task) -> Model:
    torch.manual_seed(1)
    made = Model(ModelConfig(embedding=8, hidden=5, attention=6), **task.sizes())
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3)
    return made.eval()


def test_the_lecture_s_reviews_are_cut_where_their_sentences_end() -> None:
    corpus = fitted().corpus(PAIRS[:2])
    assert [len(sizes) for _, sizes in corpus.documents] == [9, 8]
    assert corpus.lengths.tolist() == [sizes.sum() for _, sizes in corpus.documents]


def test_what_is_long_is_cut_on_both_levels() -> None:
    text = "one two three four five . six . seven eight ."
    for keys, expected in (
        ({"sentence": 4}, [4, 2, 2, 3]),
        ({"sentences": 2}, [6, 2]),
        ({"longest": 7}, [6, 1]),
        ({"longest": 6}, [6]),
        ({"longest": 11, "sentences": 3}, [6, 2, 3]),
    ):
        task, heard = fitted(**keys), list[str]()
        corpus = task.encoded([text, ""], np.zeros(2, dtype=np.int64))
        task.note = heard.append
        task.begin(model(task), Splits([text, ""], [], []), corpus)
        limit = f"task.longest={task.config.longest} tokens or task.sentences={task.config.sentences} sentences"
        told = [f"1 of 2 texts are longer than {limit}: the rest of them is not read"]
        assert heard == (told if sum(expected) < 11 else [])
        assert corpus.documents[0][1].tolist() == expected
        assert len(corpus.documents[1][1]) == 0


def test_answers_hang_on_nothing_but_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "BUDGET", 60)
    task = fitted()
    made, texts = model(task), [pair.source for pair in PAIRS] + ["", "unseen words"]
    together = list(task.predict(made, texts, SearchConfig()))
    for text, found in zip(texts, together, strict=True):
        (alone,) = task.predict(made, [text], SearchConfig())
        assert found[0].text == alone[0].text
        assert found[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-5)
    assert task.answers(made, PAIRS, SearchConfig()) == [found[0].text for found in together[:4]]


def test_a_picture_shows_words_and_sentences() -> None:
    task = fitted()
    made = model(task)
    _, (found, *_) = task.predict(made, [GOOD, BAD], SearchConfig(), looks=True)
    (scene,) = task.scenes(BAD, [found], "word")
    check(scene)
    assert {name: side.kind for name, side in scene.axes.items()} == {
        "text": "words",
        "sentences": "sentences",
        "label": "label",
    }
    words, sentences = scene.looks
    assert (words.name, words.queries, words.keys) == ("words", "sentences", "text")
    assert (sentences.name, sentences.queries, sentences.keys) == ("sentences", "label", "sentences")
    assert sentences.weights.shape == (1, 1, 8)
    assert sentences.weights.sum() == pytest.approx(1, abs=1e-5)
    assert words.weights.shape == (1, 8, len(scene.axes["text"].labels))
    np.testing.assert_allclose(words.weights.sum(-1), 1, atol=1e-5)
    assert ((words.weights[0] > 0).sum(0) == 1).all()  # each word is of one sentence
    first = scene.axes["text"].labels[:3]
    assert first == ["terrible", "value", "."]
    assert (words.weights[0, 0] > 0).sum() == 3
    assert scene.axes["sentences"].labels[0] == "terrible value ."
    with pytest.raises(DataError, match="no tokens"):
        task.scenes(" ", [found], "word")
