"""Text to label: what is learned with a run, labels in their order, scores, and how much each word was."""

from pathlib import Path

import numpy as np
import pytest
import torch
from saccade.tasks.text_to_label import Config, Task

from saccade.data import tokenizers
from saccade.data.examples import Pair, Splits
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.systems.document_attention import Config as ModelConfig
from saccade.systems.document_attention import Model
from saccade.view.trace import check

PAIRS = [
    Pair("a good film", "2", "short"),
    Pair("a bad film with no end to its length", "10", "long"),
    Pair("good and bad", "2", "short"),
    Pair("the end is good , the rest is not", "1"),
]
SPLITS = Splits(PAIRS, [], [])


def fitted(**keys: object) -> Task:
    return Task.fit(Config(**keys), tokenizers.Config(kind="word", size=100), SPLITS)  # type: ignore[arg-type]


def model(task: Task) -> Model:
    torch.manual_seed(1)
    made = Model(ModelConfig(embedding=8, hidden=6), **task.sizes())
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3)
    return made.eval()


def test_labels_are_in_order_and_come_back_from_the_run(tmp_path: Path) -> None:
    task = fitted()
    assert task.labels.names == ["1", "2", "10"]
    task.save(tmp_path)
    again = Task.load(task.config, tmp_path)
    assert again.labels.names == task.labels.names
    assert again.sizes() == task.sizes() == {"source_size": task.tokenizer.size, "labels": 3}
    (tmp_path / "labels.json").write_text("{")
    with pytest.raises(DataError, match=r"labels\.json: cannot be read"):
        Task.load(task.config, tmp_path)


def test_one_label_cannot_be_learned_and_an_unknown_one_not_judged() -> None:
    with pytest.raises(DataError, match="at least 2 different labels"):
        Task.fit(Config(), tokenizers.Config(kind="word"), Splits([PAIRS[0], PAIRS[2]], [], []))
    for splits, words in (
        (Splits(PAIRS, [Pair("good", "11")], []), r"label '11' is in the examples to choose by.*no example.*data\.valid"),
        (Splits(PAIRS, [], [Pair("good", "11")]), r"label '11' is in the examples to be judged on.*name other data\.test"),
        (Splits(PAIRS[:1], PAIRS[1:2], []), r"label '10' is in .* \(held out, or data\.valid\).*data\.held_out=0"),
    ):
        with pytest.raises(DataError, match=words):
            Task.fit(Config(), tokenizers.Config(kind="word"), splits)
    with pytest.raises(DataError, match="example 1: unknown label '11'; did you mean '1'"):
        fitted().corpus([Pair("good", "11")])


@pytest.mark.parametrize("budget", [1, 10, 20_000])
def test_labels_come_in_the_order_of_the_texts(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "BUDGET", budget)
    task = fitted()
    made, texts = model(task), [pair.source for pair in PAIRS] + ["", "unseen words here"]
    together = list(task.predict(made, texts, SearchConfig(method="beam", n_best=2)))
    assert [len(found) for found in together] == [2] * len(texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = task.predict(made, [text], SearchConfig(method="beam", n_best=3))
        assert [one.text for one in alone[:2]] == [one.text for one in found]
        assert found[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-5)
        assert sum(np.exp(one.log_prob) for one in alone) == pytest.approx(1, abs=1e-5)
    assert task.answers(made, PAIRS, SearchConfig()) == [found[0].text for found in together[: len(PAIRS)]]


def test_scores_of_all_and_of_each_group() -> None:
    task = fitted()
    made = model(task)
    scores = task.evaluate(made, PAIRS, SearchConfig())
    assert set(scores["all"]) == set(task.metrics(task.config))
    assert list(scores) == ["all", "long", "short"]
    assert [part["examples"] for part in scores.values()] == [4, 1, 2]
    said = task.answers(made, PAIRS, SearchConfig())
    right = [pair.target == label for pair, label in zip(PAIRS, said, strict=True)]
    assert scores["all"]["accuracy"] == np.mean(right)
    assert scores["short"]["accuracy"] == np.mean([right[0], right[2]])
    counts = np.array(task.details(PAIRS, said)["confusion"]["counts"])
    assert counts.sum() == 4
    assert np.trace(counts) == sum(right)
    assert sum(row["examples"] for row in task.by_length(PAIRS, said)) == 4


def test_accuracy_by_length_is_of_the_words_of_the_text() -> None:
    bins = fitted().by_length(PAIRS, ["2", "1", "2", "2"])
    assert bins == [
        {"shortest": 1, "longest": 3, "examples": 2, "accuracy": 1.0},
        {"shortest": 4, "longest": 9, "examples": 2, "accuracy": 0.0},
    ]


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "auc", "loss"])
def test_the_best_is_chosen_by_the_metric(metric: str) -> None:
    task = fitted(metric=metric)
    better = {"all": {"accuracy": 0.9, "macro_f1": 0.9, "auc": 0.9, "loss": 0.1}}
    worse = {"all": {"accuracy": 0.8, "macro_f1": 0.8, "auc": 0.8, "loss": 0.2}}
    assert task.judged(better) > task.judged(worse)


def test_what_is_too_long_is_not_read() -> None:
    task = fitted(longest=3)
    made = model(task)
    short, long = task.predict(made, ["a good film", "a good film with no end"], SearchConfig())
    assert short[0].log_prob == pytest.approx(long[0].log_prob, abs=1e-6)


@pytest.mark.parametrize(("longest", "count"), [(2, 4), (3, 2), (8, 2), (9, 0)])
def test_what_is_not_read_is_told(longest: int, count: int) -> None:
    task, heard = fitted(longest=longest), list[str]()
    task.note = heard.append
    task.begin(model(task), SPLITS, task.corpus(PAIRS))
    told = f"{count} of 4 texts are longer than task.longest={longest} tokens: the rest of them is not read"
    assert heard == ([told] if count else [])


def test_a_picture_says_how_much_each_word_was() -> None:
    task = fitted()
    made, text = model(task), "the end is good"
    (found,) = task.predict(made, [text], SearchConfig(method="beam", n_best=2), looks=True)
    scenes = task.scenes(text, found, "word")
    assert len(scenes) == 2
    for scene in scenes:
        check(scene)
        assert scene.axes["text"].labels == ["the", "end", "is", "good"]
        assert scene.looks[0].weights.sum() == pytest.approx(1, abs=1e-5)
    (beside, _) = task.predict(made, [text, PAIRS[1].source], SearchConfig(), looks=True)
    torch.testing.assert_close(beside[0].looks["pool"], found[0].looks["pool"], atol=1e-5, rtol=1e-5)
    with pytest.raises(DataError, match="no tokens"):
        task.scenes("", found, "word")


def test_letters_stand_beside_the_words_that_they_spell() -> None:
    task = fitted(spelling=1, longest=3)
    assert task.letters is not None
    assert task.sizes() == {"source_size": task.tokenizer.size, "labels": 3, "runs": len(task.letters)}
    texts = ["a goodish film , is it not", "", "film"]
    batch = task.encoded(texts, np.zeros(3, dtype=np.int64)).batch([0, 2, 1])
    assert batch.source.shape == batch.spelled.shape[:2] == (3, 3)
    for text, row in zip(["a goodish film", "film", ""], batch.spelled.tolist(), strict=True):
        spelled = [task.letters.numbers(word) for word in text.split()]
        assert [[run for run in word if run] for word in row] == spelled + [[]] * (3 - len(spelled))


def test_an_unknown_word_is_read_by_its_letters_alone_as_among_others() -> None:
    task = fitted(spelling=1)
    made = model(task)
    words = ["lengthy", "quibble"]
    alone = [next(task.predict(made, [word], SearchConfig()))[0].log_prob for word in words]
    assert abs(alone[0] - alone[1]) > 1e-3
    among = list(task.predict(made, ["a film", *words, "the end is good"], SearchConfig()))[1:3]
    assert [one.log_prob for (one,) in among] == pytest.approx(alone, abs=1e-5)


def test_an_unknown_label_is_told_with_its_place_once() -> None:
    task = Task.fit(Config(), tokenizers.Config(kind="word"), Splits(PAIRS, [], []))
    odd = Pair("good", "11", files=("judged.tsv",), number=3)
    assert [(place, line.count("judged.tsv:3: ")) for place, line in task.flaws([PAIRS[0], odd])] == [(1, 1)]
    with pytest.raises(DataError, match=r"^judged\.tsv:3: unknown label '11'"):
        task.corpus([PAIRS[0], odd])
