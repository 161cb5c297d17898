"""Models that start from vectors: of a file, or learned from their own texts."""

from pathlib import Path
from typing import Any

import pytest
import torch

from saccade import systems, tasks
from saccade.data import tokenizers
from saccade.data.examples import Pair, Splits
from saccade.errors import DataError, UsageError

PAIRS = [Pair(f"a {word} Film {n} | film", label) for n in range(9) for word, label in (("good", "1"), ("bad", "0"))]
SPLITS = Splits(PAIRS, [], [])
SYSTEMS = ("bag_of_words", "document_attention", "han", "atae_lstm")


def begun(name: str, vectors: str, **given: Any) -> tuple[Any, Any, torch.Tensor, list[str]]:
    """The task, the model, its vectors before `begin`, and what was told."""
    system = systems.load(name)
    module = tasks.load(system.TASK)
    task = module.Task.fit(module.Config(vectors=vectors), tokenizers.Config(kind="word"), SPLITS)
    torch.manual_seed(0)
    width = {"width": 3} if name == "bag_of_words" else {"embedding": 3}
    model = system.Model(system.Config(**{**width, **given}), **task.sizes())
    before, heard = model.embedding.weight.detach().clone(), list[str]()
    task.note = heard.append
    task.begin(model, SPLITS, task.corpus(SPLITS.train))
    return task, model, before, heard


@pytest.mark.parametrize("name", SYSTEMS)
def test_words_of_the_file_start_from_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("good 1 2 3\nfilm 4 5 6\n<unk> 7 7 7\nunheard 8 8 8\n")
    given = {"ngrams": 2, "buckets": 10} if name == "bag_of_words" else {}
    task, model, before, heard = begun(name, str(tmp_path / "v.txt"), **given)
    numbers = {word: number for number, word in enumerate(task.tokenizer.tokens())}
    after = model.embedding.weight.detach()
    assert after[numbers["good"]].tolist() == [1, 2, 3]
    assert after[numbers["Film"]].tolist() == [4, 5, 6]  # as it is written small
    changed = (after != before).any(1)
    found = {"good", "Film", "film"} & set(numbers)
    assert {task.tokenizer.tokens()[n] for n in changed.nonzero().flatten().tolist()} == found
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


def test_without_a_word_nothing_is_done() -> None:
    _, model, before, heard = begun("document_attention", "")
    assert torch.equal(model.embedding.weight, before)
    assert not heard


@pytest.mark.parametrize(("name", "key"), [("bag_of_words", "width"), ("han", "embedding")])
def test_widths_must_fit(name: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("good 1 2\n")
    with pytest.raises(UsageError, match=rf"have 2 numbers, the model's 3; set model\.{key}=2"):
        begun(name, str(tmp_path / "v.txt"))


def test_mistakes_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"task\.vectors: binary features have no vectors"):
        begun("bag_of_words", "skip_gram", features="binary")
    with pytest.raises(DataError, match="cannot be read"):
        begun("document_attention", str(tmp_path / "skipgram"))
