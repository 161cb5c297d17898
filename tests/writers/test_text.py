"""Text to text: tokenizers with their run, predictions in their order, scores that add up, pictures rightly labeled."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import sacrebleu
import torch
from saccade.data.text import padded
from saccade.tasks import load, text_to_text
from saccade.tasks.prediction import Prediction
from saccade.tasks.text_to_text import Config, Task

from saccade.data import tokenizers
from saccade.data.examples import Pair, Splits
from saccade.data.tokenizers import END, START, UNKNOWN
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.search import forced, search
from saccade.systems.bahdanau import Config as ModelConfig
from saccade.systems.bahdanau import Model
from saccade.systems.transformer import Config as TransformerConfig
from saccade.systems.transformer import Model as Transformer
from saccade.view.trace import check

PAIRS = [
    Pair("ein Haus", "a house", "short"),
    Pair("das alte Haus am See", "the old house at the lake", "long"),
    Pair("See", "lake", "short"),
    Pair("alt", "old"),
    Pair("ein See am alten Haus", "a lake at the old house", "long"),
]
SPLITS = Splits(PAIRS, [], [])
GREEDY = SearchConfig(max_length=12)


def fitted(kind: Literal["char", "word", "bpe"] = "char", **keys: object) -> Task:
    return Task.fit(Config(**keys), tokenizers.Config(kind=kind, size=300), SPLITS)  # type: ignore[arg-type]


def model(task: Task) -> Model:
    """Not trained, but with opinions: what it writes depends on what it reads."""
    torch.manual_seed(3)
    made = Model(ModelConfig(embedding=12, hidden=16, readout=8), **task.sizes())
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(2.5)
    return made.eval()


def texts(count: int = 40, seed: int = 1) -> list[str]:
    """Inputs of very different lengths, in no order, some of them empty."""
    dice = random.Random(seed)
    return ["".join(dice.choice("einHausmSlt d") for _ in range(dice.choice([0, 1, 3, 9, 25]))) for _ in range(count)]


def same(one: list[Prediction], other: list[Prediction]) -> bool:
    return len(one) == len(other) and all(
        (a.text, a.finished, a.labels) == (b.text, b.finished, b.labels)
        and math.isclose(a.log_prob, b.log_prob, abs_tol=1e-4)
        and a.looks.keys() == b.looks.keys()
        and all(torch.allclose(a.looks[name], b.looks[name], atol=1e-4) for name in a.looks)
        for a, b in zip(one, other, strict=True)
    )


# Tokenizers


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_task_comes_back_from_its_run(kind: Literal["char", "word", "bpe"], shared: bool, tmp_path: Path) -> None:
    task = fitted(kind, shared=shared)
    task.save(tmp_path)
    names = {"tokenizer.json"} if shared else {"source.tokenizer.json", "target.tokenizer.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    again = Task.load(task.config, tmp_path)
    assert again.sizes() == task.sizes()
    for before, after in ((task.source, again.source), (task.target, again.target)):
        for text in ("das alte house é", "</s> lake"):
            assert after.encode(text) == before.encode(text)
    one, other = task.corpus(PAIRS), again.corpus(PAIRS)
    assert (one.sources, one.targets) == (other.sources, other.targets)


def test_shared_is_one_vocabulary_and_separate_are_two() -> None:
    shared, separate = fitted(shared=True), fitted()
    assert shared.source is shared.target
    assert UNKNOWN not in shared.source.encode("Haus house")
    assert UNKNOWN in separate.source.encode("o")  # no German text has an o
    assert UNKNOWN in separate.target.encode("H")
    assert separate.sizes() == {"source_size": separate.source.size, "target_size": separate.target.size}


def test_only_the_training_data_is_learned() -> None:
    task = Task.fit(Config(), tokenizers.Config(), Splits(PAIRS, [Pair("ж", "ю")], [Pair("я", "я")]))
    assert task.source.encode("жя") == [UNKNOWN, UNKNOWN]


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    fitted().save(tmp_path)
    (tmp_path / "target.tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"target\.tokenizer\.json: no such file"):
        Task.load(Config(), tmp_path)
    assert load("text_to_text") is text_to_text


# The corpus


def test_the_corpus_holds_the_pairs_and_targets_end() -> None:
    task = fitted()
    corpus = task.corpus(PAIRS)
    assert [task.source.decode(row) for row in corpus.sources] == [pair.source for pair in PAIRS]
    assert [task.target.decode(row) for row in corpus.targets] == [pair.target for pair in PAIRS]
    assert all(row[-1] == END and END not in row[:-1] for row in corpus.targets)
    assert corpus.lengths.tolist() == [[len(pair.source), len(pair.target) + 1] for pair in PAIRS]
    batch = corpus.batch([2, 1])
    assert batch.source.tolist()[0][:3] == corpus.sources[2]
    assert batch.source[0, 3:].eq(0).all()
    assert batch.source_lengths.tolist() == [3, 20]
    assert batch.target[1].tolist() == corpus.targets[1]
    assert batch.target_lengths.tolist() == [5, 26]
    assert batch.tokens == 31
    assert task.corpus([]).lengths.shape == (0, 2)


def test_an_example_that_is_too_long_is_named() -> None:
    task = fitted(longest=20)
    with pytest.raises(
        DataError, match=r"example 2: 26 tokens, at most 20 expected; shorten it, or set task\.longest"
    ) as error:
        task.corpus(PAIRS)
    assert error.value.exit_code == 3
    assert len(fitted(longest=26).corpus(PAIRS).sources) == 5


def test_an_example_without_source_is_named() -> None:
    with pytest.raises(DataError, match="example 2: expected a source"):
        fitted().corpus([PAIRS[0], Pair("", "x")])


# Predictions


@pytest.mark.parametrize(
    "search",
    [
        GREEDY,
        SearchConfig(method="beam", beam=3, n_best=2, max_length=12),
        SearchConfig(method="sample", n_best=2, max_length=12, seed=5),
    ],
    ids=lambda config: config.method,
)
def test_order_windows_and_batches_change_nothing(search: SearchConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, given = model(task), texts()
    whole = list(task.predict(made, iter(given), search, looks=True))
    assert len(whole) == len(given)
    assert len({best[0].text for best in whole}) > 5
    monkeypatch.setattr(text_to_text, "WINDOW", 7)
    monkeypatch.setattr(text_to_text, "BATCH_TOKENS", 60)
    small = list(task.predict(made, iter(given), search, looks=True))
    assert all(same(one, other) for one, other in zip(whole, small, strict=True))
    monkeypatch.setattr(text_to_text, "BATCH_TOKENS", 1)
    alone = list(task.predict(made, iter(given), search, looks=True))
    assert all(same(one, other) for one, other in zip(whole, alone, strict=True))


def test_each_input_gets_what_it_would_get_alone() -> None:
    task = fitted()
    made, given = model(task), texts()
    for text, best in zip(given, task.predict(made, iter(given), GREEDY), strict=True):
        assert same(best, next(task.predict(made, iter([text]), GREEDY)))


def test_an_empty_input_gives_an_empty_text() -> None:
    task = fitted()
    made = model(task)
    empty = [Prediction("", 0.0, True, [], {})]
    assert list(task.predict(made, iter([""]), GREEDY, looks=True)) == [empty]
    assert list(task.predict(made, iter([" \t"]), GREEDY)) == [empty]
    three = SearchConfig(method="beam", n_best=3, max_length=12)
    assert [len(found) for found in task.predict(made, iter(["", "Haus"]), three)] == [3, 3]
    found = list(task.predict(made, iter(["", "Haus", ""]), GREEDY))
    assert [found[0], found[2]] == [empty, empty]
    assert found[1][0].labels
    assert list(task.predict(made, iter([]), GREEDY)) == []


def test_predictions_come_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long file is not read to its end first; and a list does as well as a stream."""
    monkeypatch.setattr(text_to_text, "WINDOW", 2)
    task, read = fitted(), []

    def stream() -> Iterator[str]:
        for text in ["Haus", "See", "alt", "am"]:
            read.append(text)
            yield text

    found = task.predict(model(task), stream(), GREEDY)
    assert read == []
    next(found)
    assert read == ["Haus", "See"]
    assert len(list(task.predict(model(task), ["Haus", "See", "alt"], GREEDY))) == 3


@pytest.mark.parametrize("window", [2, 3, 100])
def test_an_input_that_is_too_long_is_refused_by_its_line(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_to_text, "WINDOW", window)
    task = fitted(longest=6)
    found = task.predict(model(task), iter(["Haus", "See", "alt", "", "Haus am See", "alt"]), GREEDY)
    with pytest.raises(DataError, match="line 5: 11 tokens, at most 6 expected"):
        list(found)


def test_an_input_that_is_too_long_is_read_in_pieces_on_request() -> None:
    task = fitted(longest=6)
    made = model(task)
    given = ["Haus", "Haus am See", "", "alt"]
    whole = list(task.predict(made, iter(given), GREEDY, split=True))
    assert [len(best) for best in whole] == [1, 1, 1, 1]
    pieces = [best[0].text for best in task.predict(made, iter(["Haus a", "m See"]), GREEDY)]
    assert whole[1][0].text == " ".join(pieces)
    alone = [best[0].text for best in task.predict(made, iter(["Haus", "", "alt"]), GREEDY)]
    assert [whole[i][0].text for i in (0, 2, 3)] == alone


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_labels_and_looks_fit_each_other(kind: Literal["char", "word", "bpe"]) -> None:
    task = fitted(kind)
    made = model(task)
    given = ["das alte Haus", "See am See alt ein", "Zebra <x>"]
    for text, best in zip(given, task.predict(made, iter(given), GREEDY, looks=True), strict=True):
        for one in best:
            weights = one.looks["attention"]
            assert weights.shape == (1, len(one.labels), len(task.source.encode(text)))
            torch.testing.assert_close(weights.sum(-1), torch.ones(1, len(one.labels)))
            assert one.finished == (one.labels[-1] == "</s>")


def test_n_best_are_in_order_and_not_the_same() -> None:
    task = fitted()
    search = SearchConfig(method="beam", beam=4, n_best=4, length_penalty=0.0, max_length=6)
    (best,) = task.predict(model(task), iter(["Haus am See"]), search)
    assert [one.log_prob for one in best] == sorted((one.log_prob for one in best), reverse=True)
    assert len({(one.text, one.finished) for one in best}) == 4


# Scores


def test_each_group_starts_from_its_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """In training, in search, and where loss is told."""
    pairs = [Pair(source, target, group) for source, target in (("ein", "a"), ("alt", "old")) for group in ("de", "fr")]
    task = Task.fit(Config(starts="group", shared=True), tokenizers.Config(kind="char", size=300), Splits(pairs, [], []))
    tokens = {group: task.target.encode(f"<{group}>")[0] for group in ("de", "fr")}
    assert len({UNKNOWN, END, *tokens.values()}) == 4
    first = task.corpus(pairs).batch([0, 1, 2, 3]).first
    assert first is not None
    assert first.tolist() == [tokens[pair.group] for pair in pairs]
    asked: list[int] = []

    def spy(*given: Any, start: int, **words: Any) -> Any:
        asked.append(start)
        return search(*given, start=start, **words)

    monkeypatch.setattr(text_to_text, "search", spy)
    list(task.predict(model(task), ["ein", "alt"], GREEDY, groups=("fr", "de")))
    assert asked == [tokens["fr"], tokens["de"]]


def test_groups_add_up_to_the_whole() -> None:
    task = fitted()
    scores = task.evaluate(model(task), PAIRS, GREEDY)
    assert set(scores["all"]) == set(task.metrics(task.config))
    assert list(scores) == ["all", "long", "short"]
    assert [scores[name]["examples"] for name in scores] == [5, 2, 2]
    named = [pair for pair in PAIRS if pair.group]
    scores = task.evaluate(model(task), named, GREEDY)
    tokens = Counter[str]()
    for pair in named:
        tokens[pair.group] += len(pair.target) + 1
    groups = [scores[name] for name in ("long", "short")]
    assert scores["all"]["examples"] == sum(part["examples"] for part in groups)
    assert scores["all"]["exact"] * 4 == pytest.approx(sum(part["exact"] * part["examples"] for part in groups))
    losses = scores["long"]["loss"] * tokens["long"] + scores["short"]["loss"] * tokens["short"]
    assert scores["all"]["loss"] * tokens.total() == pytest.approx(losses, rel=1e-5)


def test_exact_counts_what_is_written_to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    written = ["a house", "the old house at the lakes", "lake ", "old", ""]
    monkeypatch.setattr(
        task, "predict", lambda *args, **words: iter([[Prediction(text, 0.0, True, [], {})] for text in written])
    )
    ticks: list[int] = []
    scores = task.evaluate(model(task), PAIRS, GREEDY, ticks.append)
    assert {name: part["exact"] for name, part in scores.items()} == {"all": 0.4, "long": 0.0, "short": 0.5}
    assert ticks == [1, 2, 3, 4, 5]
    monkeypatch.setattr(task, "predict", lambda *args, **words: iter([[]] * 5))  # a writer may leave nothing open
    assert task.evaluate(model(task), PAIRS, GREEDY)["all"]["exact"] == 0


def test_loss_is_that_of_the_examples_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, corpus = model(task), task.corpus(PAIRS)
    expected = sum(made.loss(corpus.batch([i])).item() for i in range(5))
    total, tokens = task.loss(made, PAIRS)
    assert total == pytest.approx(expected, rel=1e-5)
    assert tokens == sum(len(pair.target) + 1 for pair in PAIRS)
    monkeypatch.setattr(text_to_text, "BATCH_TOKENS", 25)
    assert task.loss(made, PAIRS)[0] == pytest.approx(expected, rel=1e-5)
    assert task.loss(made, PAIRS[::-1])[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("metric", ["loss", "bleu"])
def test_perplexity_is_of_the_mean_over_the_tokens_of_each_group(metric: Literal["loss", "bleu"]) -> None:
    """Each pair by itself, without padding, token by token as the writer gives them; END is one of them."""
    task = fitted(metric=metric)
    made = model(task)
    losses: dict[str, list[float]] = {"all": []}
    for pair in PAIRS:
        source, lengths = padded([task.source.encode(pair.source)])
        answer = [*task.target.encode(pair.target), END]
        logs = forced(made, made.read(source, lengths), [answer], start=START)[0].log_probs
        for name in {"all", pair.group}:
            losses.setdefault(name, []).extend((-logs).tolist())
    scores = task.evaluate(made, PAIRS, GREEDY)
    for name, part in scores.items():
        assert part["loss"] == pytest.approx(np.mean(losses[name]), rel=1e-4)
        assert part["perplexity"] == pytest.approx(np.exp(np.mean(losses[name])), rel=1e-4)
    assert "perplexity" not in fitted().evaluate(made, PAIRS, GREEDY)["all"]


@pytest.mark.parametrize("tokenize", ["none", "13a", "char"])
def test_overlap_is_sacrebleus_with_the_tokens_of_the_config(tokenize: Literal["none", "13a", "char"]) -> None:
    """Of the whole, of each group and of each length; the signature says how."""
    task = fitted(metric="bleu", bleu_tokens=tokenize)
    written = ["a house", "the old-house, at the lake", "lake", "odl", "a lake , at the old house."]

    def expected(chosen: list[int]) -> tuple[float, float]:
        texts, references = [written[i] for i in chosen], [[PAIRS[i].target for i in chosen]]
        bleu = sacrebleu.corpus_bleu(texts, references, tokenize=tokenize, force=True).score
        return bleu, sacrebleu.corpus_chrf(texts, references).score

    scores = task.scores(model(task), PAIRS, written)
    for name, chosen in (("all", [0, 1, 2, 3, 4]), ("long", [1, 4]), ("short", [0, 2])):
        assert (scores[name]["bleu"], scores[name]["chrf"]) == expected(chosen)
    bins = task.by_length(PAIRS, written)
    assert [(row["shortest"], row["longest"], row["examples"]) for row in bins] == [(1, 1, 2), (2, 2, 1), (3, 5, 2)]
    for row, chosen in zip(bins, ([2, 3], [0], [1, 4]), strict=True):
        assert (row["bleu"], row["chrf"]) == expected(chosen)
        assert row["exact"] == sum(written[i] == PAIRS[i].target for i in chosen) / len(chosen)
    assert f"|tok:{tokenize}|" in task.bleu_signature()
    assert task.signatures()["bleu"] == task.bleu_signature()
    assert fitted().signatures() == {}


def test_scores_do_not_depend_on_dropout_or_on_gradients() -> None:
    task = fitted()
    torch.manual_seed(0)
    made = Model(ModelConfig(embedding=8, hidden=8, readout=4, dropout=0.5), **task.sizes()).train()
    first = task.evaluate(made, PAIRS, GREEDY)
    assert task.evaluate(made.train(), PAIRS, GREEDY) == first
    assert all(weight.grad is None for weight in made.parameters())


def test_a_group_named_all_does_not_take_the_place_of_the_whole() -> None:
    task = fitted()
    pairs = [Pair("Haus", "house", "all"), Pair("See", "lake", "rest")]
    scores = task.evaluate(model(task), pairs, GREEDY)
    assert scores["all"]["examples"] == 2
    assert scores["rest"]["examples"] == 1


def test_what_is_wrong_with_an_example_is_told_by_its_own_number() -> None:
    task = fitted(longest=15)
    pairs = [Pair("a", "a", "b"), Pair("a", "a", "a"), Pair("a", "a house at the lake", "a")]
    with pytest.raises(DataError, match="example 3: 20 tokens"):
        task.evaluate(model(task), pairs, GREEDY)


def test_nothing_to_be_judged_on_is_said() -> None:
    task = fitted()
    with pytest.raises(DataError, match="expected examples"):
        task.evaluate(model(task), [], GREEDY)


def test_judged_prefers_what_the_metric_says() -> None:
    def scores(exact: float, loss: float) -> dict[str, dict[str, float]]:
        return {"all": {"examples": 1, "exact": exact, "loss": loss}, "tagged": {"exact": 1.0, "loss": 0.0}}

    exact, loss = fitted(), fitted(metric="loss")
    assert exact.judged(scores(0.5, 9)) > exact.judged(scores(0.4, 1))
    assert exact.judged(scores(0.5, 1)) > exact.judged(scores(0.5, 2))
    assert loss.judged(scores(0.1, 1)) > loss.judged(scores(0.9, 2))


# Pictures


@pytest.mark.parametrize(("kind", "places"), [("char", "characters"), ("word", "words"), ("bpe", "pieces")])
def test_scenes_show_what_was_read_and_written(kind: Literal["char", "word", "bpe"], places: str) -> None:
    task = fitted(kind)
    text = "das alte Haus"
    search = SearchConfig(method="beam", n_best=3, max_length=8)
    (best,) = task.predict(model(task), iter([text]), search, looks=True)
    scenes = task.scenes(text, best, kind)
    assert len(scenes) == 3
    for scene, one in zip(scenes, best, strict=True):
        check(scene)
        source, target = scene.axes["source"], scene.axes["target"]
        assert (source.kind, target.kind) == (places, places)
        assert list(source.labels) == task.source.pieces(text)
        assert list(target.labels) == one.labels
        (look,) = scene.looks
        assert (look.name, look.queries, look.keys) == ("attention", "target", "source")
        assert look.weights.shape == (1, len(target.labels), len(source.labels))
        assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
        assert scene.notes["log_prob"] == one.log_prob
        assert scene.title == f"{text} → {one.text}"


def transformer(task: Task) -> Transformer:
    """Not trained, either."""
    torch.manual_seed(3)
    made = Transformer(
        TransformerConfig(width=16, heads=4, hidden=16, encoder_layers=2, decoder_layers=2, embeddings="separate"),
        **task.sizes(),
    )
    return made.eval()


@pytest.mark.parametrize("starts", ["one", "group"])
def test_scenes_show_reading_and_what_was_written_before(starts: str) -> None:
    pairs = [Pair(pair.source, pair.target, "en") for pair in PAIRS]
    task = Task.fit(Config(starts=starts), tokenizers.Config(), Splits(pairs, [], []))  # type: ignore[arg-type]
    made, text, group = transformer(task), "das alte Haus", "en" if starts == "group" else ""
    search = SearchConfig(method="beam", n_best=2, max_length=6)
    (best,) = task.predict(made, iter([text]), search, looks=True, groups=(group,))
    scenes = task.scenes(text, best, "char", task.reading(made, text))
    assert len(scenes) == 2
    for scene, one in zip(scenes, best, strict=True):
        check(scene)
        sides = {look.name: (look.queries, look.keys) for look in scene.looks}
        assert list(sides.items()) == [
            ("layer 1", ("target", "source")),
            ("layer 2", ("target", "source")),
            ("layer 1, written", ("target", "before")),
            ("layer 2, written", ("target", "before")),
            ("layer 1, read", ("source", "source")),
            ("layer 2, read", ("source", "source")),
        ]
        start = "<en>" if starts == "group" else "<s>"
        assert list(scene.axes["before"].labels) == [start, *one.labels[:-1]]
        for look in scene.looks:
            assert look.weights.shape[0] == 4
            assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
            if look.keys == "before":
                assert not look.weights[:, ~np.tri(len(one.labels), dtype=bool)].any()  # nobody sees the future
    with torch.inference_mode():
        expected = made.reading(*padded([task.source.encode(text)]))
    assert np.array_equal(scenes[1].looks[4].weights, expected["layer 1, read"][0].numpy())


def test_who_does_not_look_while_reading_shows_no_reading() -> None:
    task = fitted()
    assert task.reading(model(task), "Haus") == {}
    assert task.reading(transformer(task), "") == {}


def test_characters_are_labeled_one_by_one() -> None:
    task = fitted()
    (best,) = task.predict(model(task), iter(["Haus é"]), GREEDY, looks=True)
    (scene,) = task.scenes("Haus é", best, "char")
    assert list(scene.axes["source"].labels) == list("Haus é")
    assert list(scene.axes["target"].labels)[: len(best[0].text)] == list(best[0].text)


def test_right_is_what_the_words_spell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are joined by spaces, whatever stood between them; a target with an unknown word is never right."""
    pairs = [Pair("one", "Yes, sir"), Pair("two", "No")]
    tokens = tokenizers.Config(kind="word", lower=True)
    task = Task.fit(Config(), tokens, Splits(pairs, [], []))
    answers = {"one": "yes , sir", "two": "<unk>"}
    written = lambda model, texts, config, **words: ([Prediction(answers[one], 0.0, True, [], {})] for one in texts)  # noqa: E731
    monkeypatch.setattr(task, "predict", written)
    scores = task.evaluate(model(task), [Pair("one", "Yes, sir"), Pair("two", "Never")], SearchConfig())
    assert scores["all"]["exact"] == 0.5


def test_with_very_many_hypotheses_fewer_inputs_are_searched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    task, sizes = fitted(), list[int]()
    made = model(task)
    read = Model.read

    def counted(self: Model, source: torch.Tensor, lengths: torch.Tensor) -> object:
        sizes.append(len(source))
        return read(self, source, lengths)

    monkeypatch.setattr(Model, "read", counted)
    inputs = ["ein Haus"] * 64
    for width in (4, 16, 64, 1000):
        list(task.predict(made, inputs, SearchConfig(method="beam", beam=width, max_length=1)))
        assert sum(sizes) == 64
        assert max(sizes) == (64 if width <= 16 else min(64, 8000 * 16 // width // 8))
        sizes.clear()


@pytest.mark.parametrize("metric", ["exact", "loss", "bleu"])
def test_the_scores_of_each_metric_are_known_before(metric: str) -> None:
    task = fitted(metric=metric)
    assert set(task.evaluate(model(task), PAIRS, GREEDY)["all"]) == set(Task.metrics(task.config))
