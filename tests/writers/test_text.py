"""Texts: targets as tokens, predictions by search, scores that add up, pictures rightly labeled."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import sacrebleu
import torch

from saccade.data.examples import Example, Splits
from saccade.data.tensors import TextInput, padded
from saccade.errors import DataError, UsageError
from saccade.search import forced, search
from saccade.task import Task
from saccade.writers import text as module
from saccade.writers.writer import Prediction
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions, settings

SYSTEM = "bahdanau"
SIZES = ("model.embedding_size=12", "model.hidden_size=16", "model.readout_size=8", "tokens.size=300")
EXAMPLES = [
    Example("ein Haus", "a house", "short"),
    Example("das alte Haus am See", "the old house at the lake", "long"),
    Example("See", "lake", "short"),
    Example("alt", "old"),
    Example("ein See am alten Haus", "a lake at the old house", "long"),
]
GREEDY = options(max_length=12)
Kind = Literal["char", "word", "bpe"]


def fitted(*words: str, examples: list[Example] = EXAMPLES, kind: Kind = "char") -> Task:
    return made_tasks.fitted(SYSTEM, examples, *SIZES, f"tokens.kind={kind}", *words)


def model(task: Task) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, seed=3, loud=2.5)


def loss(indices: Any) -> tuple[float, int]:
    """A loss that nobody asks about."""
    return 1.0, 1


def scores(task: Task, texts: list[str], examples: list[Example] = EXAMPLES) -> dict[str, dict[str, float]]:
    """Of these texts."""
    found: dict[str, dict[str, float]] = task.writer.score(examples, [Prediction(text) for text in texts], loss)
    return found


# Tokenizers


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_task_comes_back_from_its_run(kind: Kind, shared: bool, tmp_path: Path) -> None:
    words = (f"writer.share_tokenizer={str(shared).lower()}", f"tokens.kind={kind}")
    task = fitted(*words)
    task.save(tmp_path)
    names = {"tokenizer.json"} if shared else {"tokenizer.json", "target.tokenizer.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    again = Task.load(settings(SYSTEM, *SIZES, *words), tmp_path)
    assert again.sizes() == task.sizes()
    for before, after in ((task.reader.tokenizer, again.reader.tokenizer), (task.writer.tokenizer, again.writer.tokenizer)):
        for text in ("das alte house é", "</s> lake"):
            assert after.encode(text) == before.encode(text)
    assert again.writer.encode(EXAMPLES).rows == task.writer.encode(EXAMPLES).rows


def test_shared_is_one_vocabulary_and_separate_are_two() -> None:
    shared, separate = fitted("writer.share_tokenizer=true"), fitted()
    unknown = shared.writer.vocabulary.unknown
    assert shared.reader.tokenizer is shared.writer.tokenizer
    assert unknown not in shared.reader.tokenizer.encode("Haus house")
    assert unknown in separate.reader.tokenizer.encode("o")  # no German text has an o
    assert unknown in separate.writer.tokenizer.encode("H")
    assert separate.sizes() == {
        "source": separate.reader.tokenizer.vocabulary,
        "target": separate.writer.tokenizer.vocabulary,
    }


def test_only_what_reads_text_can_share_a_tokenizer() -> None:
    config = settings(SYSTEM, "writer.share_tokenizer=true").writer
    with pytest.raises(UsageError, match=r"writer\.share_tokenizer: expected a system that reads text"):
        module.Writer.fit(config, None, Splits(EXAMPLES, [], []), object())


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    fitted().save(tmp_path)
    (tmp_path / "target.tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"target\.tokenizer\.json: no such file"):
        Task.load(settings(SYSTEM, *SIZES), tmp_path)


def test_targets_may_have_tokens_of_another_kind() -> None:
    task = fitted("writer.share_tokenizer=false", "writer.tokens=word", "writer.tokens_size=6")
    assert (task.reader.tokenizer.kind, task.writer.tokenizer.kind, task.writer.tokenizer.size) == ("char", "word", 6)
    assert fitted("writer.share_tokenizer=false", kind="word").writer.tokenizer.kind == "word"
    for word in ("tokens=word", "tokens_size=9"):
        with pytest.raises(UsageError, match=r"writer\.tokens.*: has no effect where .* add writer\.share_tokenizer=false"):
            settings(SYSTEM, "writer.share_tokenizer=true", f"writer.{word}")


# Targets


def test_targets_end_and_start_from_one_token() -> None:
    task = fitted("writer.label_smoothing=0.1")
    column, vocabulary = task.writer.encode(EXAMPLES), task.writer.vocabulary
    assert [task.writer.tokenizer.decode(row) for row in column.rows] == [one.target for one in EXAMPLES]
    assert all(row[-1] == vocabulary.end and vocabulary.end not in row[:-1] for row in column.rows)
    batch = column.batch([2, 1])
    assert (batch.lengths.tolist(), len(batch), batch.label_smoothing) == ([5, 26], 2, 0.1)
    assert batch.first.tolist() == [vocabulary.start] * 2
    assert batch.before()[0, :5].tolist() == [vocabulary.start, *column.rows[2][:-1]]


def test_a_target_that_is_too_long_is_named() -> None:
    task = fitted("writer.max_length=20")
    told = r"example 2: 26 tokens, at most 20 expected; shorten it, or set writer\.max_length"
    with pytest.raises(DataError, match=told) as error:
        task.writer.encode(EXAMPLES)
    assert error.value.exit_code == 3
    assert [index for index, _ in task.writer.flaws(EXAMPLES)] == [1, 4]
    assert len(fitted("writer.max_length=26").writer.encode(EXAMPLES).rows) == 5


def test_a_flaw_of_parallel_text_is_told_by_the_target_s_file() -> None:
    examples = [Example("a", "b" * 30, files=("a.de", "a.en"), number=7)]
    ((_, problem),) = fitted("writer.max_length=20").writer.flaws(examples)
    assert problem.startswith("a.en:7: 31 tokens")


def test_each_group_starts_from_its_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """In training, in search, and where loss is computed."""
    pairs = [Example(source, target, group) for source, target in (("ein", "a"), ("alt", "old")) for group in ("de", "fr")]
    task = fitted("writer.start=group", "writer.share_tokenizer=true", examples=pairs)
    vocabulary = task.writer.vocabulary
    tokens = {group: task.writer.tokenizer.encode(f"<{group}>")[0] for group in ("de", "fr")}
    assert len({vocabulary.unknown, vocabulary.end, *tokens.values()}) == 4
    assert task.writer.groups() == ["de", "fr"]
    assert task.corpus(pairs).batch([0, 1, 2, 3]).target.first.tolist() == [tokens[pair.group] for pair in pairs]
    given: list[int] = []

    def spy(*positional: Any, start: list[int], **named: Any) -> Any:
        given.extend(start)
        return search(*positional, start=start, **named)

    monkeypatch.setattr(module, "search", spy)
    found = predictions(task, model(task), ["ein", "alt"], options(max_length=4, groups=("fr", "de")))
    assert sorted(given) == sorted([tokens["fr"], tokens["de"]] * 2)
    assert [[one.group for one in best] for best in found] == [["fr", "de"]] * 2
    given.clear()
    task.evaluate(model(task), pairs, GREEDY)
    assert sorted(given) == sorted([tokens["fr"], tokens["de"]] * 2)
    ((_, problem),) = task.writer.flaws([*pairs, Example("ein", "uno", "es")])
    assert problem.startswith("example 5: unknown group to write 'es'")
    with pytest.raises(DataError, match=r"writer\.start=group: expected pairs with a group"):
        fitted("writer.start=group", examples=[Example("a", "b")])


# Predictions


def test_an_empty_input_gives_an_empty_text() -> None:
    task = fitted()
    made = model(task)
    empty = [Prediction("")]
    assert predictions(task, made, [""], options(max_length=12, looks=True)) == [empty]
    assert predictions(task, made, [" \t"], GREEDY) == [empty]
    assert [len(found) for found in predictions(task, made, ["", "Haus"], options(3, max_length=12))] == [3, 3]
    found = predictions(task, made, ["", "Haus", ""], GREEDY)
    assert [found[0], found[2]] == [empty, empty]
    assert found[1][0].tokens


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_tokens_and_looks_fit_each_other(kind: Kind) -> None:
    task = fitted(kind=kind)
    made, given = model(task), ["das alte Haus", "See am See alt ein", "Zebra <x>"]
    for text, best in zip(given, predictions(task, made, given, options(max_length=12, looks=True)), strict=True):
        (one,) = best
        (look,) = one.looks
        size = len(task.reader.tokenizer.encode(text))
        assert look.weights.shape[:2] == (1, len(one.tokens))
        np.testing.assert_allclose(look.weights[..., :size].sum(-1), 1, atol=1e-5)
        assert not look.weights[..., size:].any()  # padding
        assert one.finished == (one.tokens[-1] == "</s>")
        assert list(one.context) == ["<s>"]


def test_n_best_are_in_order_and_not_the_same() -> None:
    task = fitted()
    (best,) = predictions(task, model(task), ["Haus am See"], options(4, length_penalty=0.0, max_length=6))
    assert [one.log_prob for one in best] == sorted((one.log_prob for one in best), reverse=True)
    assert len({(one.text, one.finished) for one in best}) == 4


# Scores


@pytest.mark.parametrize("metric", ["exact_match", "loss", "bleu"])
def test_the_scores_of_each_metric_are_known_before(metric: str) -> None:
    task = fitted(f"writer.metric={metric}")
    found = task.evaluate(model(task), EXAMPLES, GREEDY)
    assert set(found["all"]) == {"examples", *task.writer.metrics(task.writer.config)}
    assert task.writer.main().name == ("bleu" if metric == "bleu" else "exact_match")


def test_groups_add_up_to_the_whole() -> None:
    task = fitted()
    found = task.evaluate(model(task), EXAMPLES, GREEDY)
    assert list(found) == ["all", "long", "short"]
    assert [found[name]["examples"] for name in found] == [5, 2, 2]
    named = [one for one in EXAMPLES if one.group]
    found = task.evaluate(model(task), named, GREEDY)
    tokens = Counter[str]()
    for one in named:
        tokens[one.group] += len(one.target) + 1
    groups = [found[name] for name in ("long", "short")]
    assert found["all"]["examples"] == sum(part["examples"] for part in groups)
    assert found["all"]["exact_match"] * 4 == pytest.approx(sum(part["exact_match"] * part["examples"] for part in groups))
    losses = found["long"]["loss"] * tokens["long"] + found["short"]["loss"] * tokens["short"]
    assert found["all"]["loss"] * tokens.total() == pytest.approx(losses, rel=1e-5)


def test_exact_match_counts_what_is_written_to_the_letter() -> None:
    found = scores(fitted(), ["a house", "the old house at the lakes", "lake ", "old", ""])
    assert {name: part["exact_match"] for name, part in found.items()} == {"all": 0.4, "long": 0.0, "short": 0.5}
    assert scores(fitted(), [""] * 5)["all"]["exact_match"] == 0


def test_where_nothing_can_be_written_the_text_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.Writer, "predict", lambda self, model, batch, options, positions: [[] for _ in positions])
    task = fitted()
    found = task.evaluate(model(task), EXAMPLES, GREEDY)
    assert [one.text for one in found.predictions] == [""] * 5
    assert found["all"]["exact_match"] == 0


def test_a_match_is_what_the_tokens_spell() -> None:
    """Words are joined by spaces, whatever stood between them; a target with an unknown word never matches."""
    pairs = [Example("one", "Yes, sir"), Example("two", "No")]
    task = fitted("tokens.lower=true", examples=pairs, kind="word")
    found = scores(task, ["yes , sir", "<unk>"], [Example("one", "Yes, sir"), Example("two", "Never")])
    assert found["all"]["exact_match"] == 0.5


@pytest.mark.parametrize("metric", ["loss", "bleu"])
def test_perplexity_is_of_the_mean_over_the_tokens_of_each_group(metric: str) -> None:
    """Each example by itself, without padding, token by token as the model gives them; the end is one of them."""
    task = fitted(f"writer.metric={metric}")
    made, vocabulary = model(task), task.writer.vocabulary
    losses: dict[str, list[float]] = {"all": []}
    for one in EXAMPLES:
        given = TextInput(*padded([task.reader.tokenizer.encode(one.input)]))
        answer = [*task.writer.tokenizer.encode(one.target), vocabulary.end]
        with torch.no_grad():
            logs = forced(made, made.read(given), [answer], start=vocabulary.start)[0].log_probs
        for name in {"all", one.group}:
            losses.setdefault(name, []).extend((-logs).tolist())
    for name, part in task.evaluate(made, EXAMPLES, GREEDY).items():
        assert part["loss"] == pytest.approx(np.mean(losses[name]), rel=1e-4)
        assert part["perplexity"] == pytest.approx(np.exp(np.mean(losses[name])), rel=1e-4)
    assert "perplexity" not in fitted().evaluate(made, EXAMPLES, GREEDY)["all"]


@pytest.mark.parametrize("tokenize", ["none", "13a", "char"])
def test_overlap_is_sacrebleus_with_the_tokens_of_the_config(tokenize: str) -> None:
    """Of the whole, of each group and of each length; the signature says how."""
    task = fitted("writer.metric=bleu", f"writer.bleu_tokenize={tokenize}")
    written = ["a house", "the old-house, at the lake", "lake", "odl", "a lake , at the old house."]

    def expected(chosen: list[int]) -> tuple[float, float]:
        texts, references = [written[i] for i in chosen], [[EXAMPLES[i].target for i in chosen]]
        bleu = sacrebleu.corpus_bleu(texts, references, tokenize=tokenize, force=True).score
        return bleu, sacrebleu.corpus_chrf(texts, references).score

    found = scores(task, written)
    for name, chosen in (("all", [0, 1, 2, 3, 4]), ("long", [1, 4]), ("short", [0, 2])):
        assert (found[name]["bleu"], found[name]["chrf"]) == expected(chosen)
    bins = task.by_length(EXAMPLES, [Prediction(text) for text in written])
    assert [(row["shortest"], row["longest"], row["examples"]) for row in bins] == [(1, 1, 2), (2, 2, 1), (3, 5, 2)]
    for row, chosen in zip(bins, ([2, 3], [0], [1, 4]), strict=True):
        assert (row["bleu"], row["chrf"]) == expected(chosen)
        assert row["exact_match"] == sum(written[i] == EXAMPLES[i].target for i in chosen) / len(chosen)
    assert f"|tok:{tokenize}|" in task.writer.signatures()["bleu"]
    assert task.evaluate(model(task), EXAMPLES, GREEDY).signatures == task.writer.signatures()
    assert fitted().writer.signatures() == {}


def test_a_group_named_all_does_not_take_the_place_of_the_whole() -> None:
    task = fitted()
    found = task.evaluate(model(task), [Example("Haus", "house", "all"), Example("See", "lake", "rest")], GREEDY)
    assert found["all"]["examples"] == 2
    assert found["rest"]["examples"] == 1


def test_the_best_is_chosen_by_the_metric() -> None:
    def given(match: float, loss: float) -> dict[str, dict[str, float]]:
        return {
            "all": {"examples": 1, "exact_match": match, "loss": loss},
            "tagged": {"exact_match": 1.0, "loss": 0.0},
        }

    match, loss = fitted().writer, fitted("writer.metric=loss").writer
    assert match.best(given(0.5, 9)) > match.best(given(0.4, 1))
    assert match.best(given(0.5, 1)) > match.best(given(0.5, 2))
    assert loss.best(given(0.1, 1)) > loss.best(given(0.9, 2))


# Pictures


@pytest.mark.parametrize(("kind", "places"), [("char", "characters"), ("word", "words"), ("bpe", "pieces")])
def test_scenes_show_what_was_read_and_written(kind: Kind, places: str) -> None:
    task, text = fitted(kind=kind), "das alte Haus"
    made = model(task)
    ((example, best),) = task.predict(made, [text], options(3, max_length=8, looks=True), nothing)
    assert example is not None
    assert len(task.writer.shown(best)) == 3
    for one in best:
        scene = task.scene(made, example, one)
        source, target = scene.axes["input"], scene.axes["output"]
        assert (source.kind, target.kind) == (places, places)
        assert list(source.labels) == task.reader.tokenizer.pieces(text)
        assert list(target.labels) == one.tokens
        (look,) = scene.looks
        assert (look.name, look.queries, look.keys) == ("attention", "output", "input")
        assert look.weights.shape == (1, len(target.labels), len(source.labels))
        assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
        assert scene.notes["log_prob"] == one.log_prob
        assert target.probabilities is not None
        assert np.log(target.probabilities).sum() == pytest.approx(one.log_prob, abs=1e-4)
        assert scene.title == f"{text} → {one.text}"


@pytest.mark.parametrize("start", ["one", "group"])
def test_scenes_show_reading_and_what_was_written_before(start: str) -> None:
    pairs = [Example(one.input, one.target, "en") for one in EXAMPLES]
    small = "hidden_size=16 num_heads=4 intermediate_size=16 encoder_layers=2 decoder_layers=2 embeddings=separate"
    words = (*(f"model.{word}" for word in small.split()), f"writer.start={start}")
    task = made_tasks.fitted("transformer", pairs, *words)
    made = made_tasks.model("transformer", task, *words, seed=3, loud=1.0)
    text, groups = "das alte Haus", ("en",) if start == "group" else ("",)
    how = options(2, max_length=6, looks=True, groups=groups)
    beside, (example, best) = task.predict(made, ["ein See am alten Haus", text], how, nothing)
    assert example is not None
    assert beside is not None
    for one in best:
        scene = task.scene(made, example, one)
        sides = [(look.queries, look.keys) for look in scene.looks]
        assert sides == [("output", "input")] * 2 + [("output", "written")] * 2 + [("input", "input")] * 2
        assert list(scene.axes["written"].labels) == ["<en>" if start == "group" else "<s>", *one.tokens[:-1]]
        for look in scene.looks:
            assert look.weights.shape[0] == 4
            assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
            if look.keys == "written":
                assert not look.weights[:, ~np.tri(len(one.tokens), dtype=bool)].any()  # nobody sees the future
        with torch.inference_mode():
            expected = made.reading(task.reader.encode([text]).batch([0]))
        np.testing.assert_allclose(scene.looks[4].weights, expected[0].of(0).weights, atol=1e-6)


def test_who_does_not_look_while_reading_shows_no_reading() -> None:
    task = fitted()
    assert list(model(task).reading(task.reader.encode(["Haus"]).batch([0]))) == []


def test_characters_are_labeled_one_by_one() -> None:
    task = fitted()
    scene = made_tasks.scene(task, model(task), "Haus é", options(max_length=12, looks=True))
    assert list(scene.axes["input"].labels) == list("Haus é")
    text = scene.title.partition(" → ")[2]
    assert list(scene.axes["output"].labels)[: len(text)] == list(text)
