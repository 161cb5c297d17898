"""Models that start from vectors: of a file, or learned from their own texts."""

from pathlib import Path
from typing import Any

import pytest
import torch

from saccade import systems
from saccade.data.examples import Example, Pair, Splits
from saccade.errors import DataError, UsageError
from saccade.task import Task
from tests.made_tasks import settings

EXAMPLES = [Example(f"a {word} Film {n} | film", label) for n in range(9) for word, label in (("good", "1"), ("bad", "0"))]
SPLITS = Splits(EXAMPLES, [], [])
SYSTEMS = ("bag_of_words", "document_attention", "han", "atae_lstm")


def begun(name: str, vectors: str, *words: str) -> tuple[Task, Any, torch.Tensor, list[str]]:
    """The task, the model, its vectors before it was prepared, and what was told."""
    given = settings(name, f"reader.vectors={vectors}", "model.embedding_size=3", *words)
    task = Task.fit(given, SPLITS)
    torch.manual_seed(0)
    model = systems.load(name).Model(given.model, **task.sizes())
    before, heard = model.embedding.weight.detach().clone(), list[str]()
    task.prepare(model, SPLITS, task.corpus(EXAMPLES), heard.append)
    return task, model, before, heard


@pytest.mark.parametrize("name", SYSTEMS)
def test_words_of_the_file_start_from_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("good 1 2 3\nfilm 4 5 6\n<unk> 7 7 7\nunheard 8 8 8\n")
    given = ("model.ngrams=2", "model.buckets=10") if name == "bag_of_words" else ()
    task, model, before, heard = begun(name, str(tmp_path / "v.txt"), *given)
    tokens = task.reader.tokenizer.tokens()
    numbers = {word: number for number, word in enumerate(tokens)}
    after = model.embedding.weight.detach()
    assert after[numbers["good"]].tolist() == [1, 2, 3]
    assert after[numbers["Film"]].tolist() == [4, 5, 6]  # as it is written small
    changed = (after != before).any(1)
    found = {"good", "Film", "film"} & set(numbers)
    assert {tokens[n] for n in changed.nonzero().flatten().tolist()} == found
    assert heard == [f"{tmp_path / 'v.txt'}: vectors of {len(found)} of {len(numbers) - 4} words"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_they_can_be_learned_from_the_texts(name: str) -> None:
    _, model, before, heard = begun(name, "skip_gram")
    _, again, _, _ = begun(name, "skip_gram")
    after = model.embedding.weight.detach()
    assert torch.equal(after, again.embedding.weight)
    assert torch.equal(after[:4], before[:4])  # padding and the like
    assert not (after[4:] == before[4:]).all(1).any()
    assert heard == [f"skip-gram: vectors of {len(after) - 4} of {len(after) - 4} words"]


@pytest.mark.parametrize("task", ["masked", "label"])
def test_an_encoder_starts_from_vectors_of_what_it_reads(task: str) -> None:
    """Of running text, or of both texts of pairs; the tokens that no text has keep what chance gave them."""
    texts = [(f"a good film {n}", f"one bad play {n % 3}") for n in range(30)]
    examples = [Example(Pair(*pair), str(n % 2)) for n, pair in enumerate(texts)]
    if task == "masked":
        examples = [Example("", ". ".join(pair)) for pair in texts]
    words = ("model.hidden_size=4", "model.num_layers=1", "tokens.kind=word", "tokens.min_count=2")
    given = settings("bert", f"task={task}", "reader.vectors=skip_gram", "reader.max_length=20", *words)
    made = Task.fit(given, Splits(examples, [], []))
    torch.manual_seed(0)
    model = systems.load("bert").Model(given.model, **made.sizes())
    weight, heard = model.encoder.embedding.weight, list[str]()
    before = weight.detach().clone()
    made.prepare(model, Splits(examples, [], []), made.corpus(examples), heard.append)
    special = [*made.reader.vocabulary.special]
    changed = (weight.detach() != before).any(1)
    assert not changed[special].any()
    assert changed.sum() == len(changed) - len(special)
    assert heard[-1] == f"skip-gram: vectors of {changed.sum()} of {changed.sum()} words"


def test_without_a_word_nothing_is_done() -> None:
    _, model, before, heard = begun("document_attention", "")
    assert torch.equal(model.embedding.weight, before)
    assert not heard


@pytest.mark.parametrize("name", ["bag_of_words", "han"])
def test_widths_must_fit(name: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("good 1 2\n")
    with pytest.raises(UsageError, match=r"vectors have size 2, the model's 3; set model\.embedding_size=2"):
        begun(name, str(tmp_path / "v.txt"))


def test_mistakes_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"reader\.vectors: binary features have no vectors"):
        begun("bag_of_words", "skip_gram", "model.features=binary")
    with pytest.raises(DataError, match="cannot be read"):
        begun("document_attention", str(tmp_path / "skipgram"))
