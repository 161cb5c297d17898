"""The memory network against the paper's equations, and that it goes on from where it stood."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from saccade.data.batches import Floats
from saccade.data.tensors import StoryInput
from saccade.data.tokenizers import learned_layout
from saccade.systems.memory_network import Config, Model
from saccade.training.train_config import Config as TrainConfig
from saccade.training.trainer import Trainer

from .tiny import options, tiny

TOKENS = [[4, 5, 6], [7, 8, 0], [5, 5, 9], [4, 0, 0], [6, 9, 0], [9, 8, 7]]  # four statements of two stories, two questions
SIZES, COUNTS, SIZE = [3, 2, 3, 1, 2, 3], [3, 1], 10


def story() -> StoryInput:
    return StoryInput(tokens=torch.tensor(TOKENS), lengths=torch.tensor(SIZES), counts=torch.tensor(COUNTS), most=3)


def model(**given: object) -> Model:
    torch.manual_seed(0)
    config = Config(embedding_size=4, **given)  # type: ignore[arg-type]
    return Model(config, learned_layout(SIZE), statements=5, answers=(4, 7, -1)).eval()


def softmax(scores: Floats) -> Floats:
    """Over the five places of a memory, of which the empty ones have scores of 0."""
    return np.asarray(np.exp(np.pad(scores, (0, 5 - len(scores)))) / np.exp(np.pad(scores, (0, 5 - len(scores)))).sum())[
        : len(scores)
    ]


@pytest.mark.parametrize("tying", ["adjacent", "layer"])
@pytest.mark.parametrize("hops", [1, 3])
def test_its_answer_is_that_of_the_equations(tying: str, hops: int) -> None:
    made = model(num_hops=hops, tying=tying, encoding="words")
    words, ages = (part.detach().numpy().astype(np.float64) for part in (made.sentences.vectors, made.ages.weight))
    tables = [words[:, start : start + 4] for start in range(0, words.shape[1], 4)]
    first = 0
    for number, count in enumerate(COUNTS):
        rows = [TOKENS[first + i][: SIZES[first + i]] for i in range(count)]
        old = [count - 1 - i for i in range(count)]
        question = TOKENS[4 + number][: SIZES[4 + number]]
        first += count
        state = tables[0 if tying == "adjacent" else 2][question].sum(0)
        for hop in range(hops):
            read, write = (hop, hop + 1) if tying == "adjacent" else (0, 1)
            keys, values = (
                np.stack([tables[t][row].sum(0) + ages[age, 4 * t : 4 * t + 4] for row, age in zip(rows, old, strict=True)])
                for t in (read, write)
            )
            before = state if made.between is None else made.between.weight.detach().numpy() @ state
            state = before + softmax(keys @ state) @ values
        own = made.answers.own.detach().numpy() if made.answers.own is not None else None
        assert own is not None
        answers = np.stack([tables[-1][4], tables[-1][7], own[0]]) if tying == "adjacent" else own
        np.testing.assert_allclose(made.logits(story()).detach().numpy()[number], answers @ state, atol=1e-5)


def test_more_hops_show_where_each_looked() -> None:
    one = tiny("memory_network", num_hops=2)
    (best,) = one.task.predictions(one.model, [one.examples[2]], options(looks=True))[0]
    scene = one.task.scene(one.model, one.examples[2], best)
    assert list(scene.axes["hops"].labels) == ["hop 1", "hop 2"]
    assert list(scene.axes["input"].marked) == [1, 2]
    assert scene.looks[0].weights.shape == (1, 2, 4)
    assert not np.allclose(scene.looks[0].weights[0, 0], scene.looks[0].weights[0, 1])


def test_a_story_without_statements_has_an_answer() -> None:
    given = StoryInput(tokens=torch.tensor([[4, 5]]), lengths=torch.tensor([2]), counts=torch.tensor([0]), most=0)
    for training in (False, True):
        assert model().train(training).logits(given).isfinite().all()


def trainer(linear_steps: int) -> Trainer:
    one = tiny("memory_network", linear_steps=linear_steps, empty_memories=0.5)
    config = TrainConfig(steps=6, batch_size=2, prefetch=False, optimizer="sgd", momentum=0.0, learning_rate=0.05)
    made = Trainer(one.model, one.task.corpus(one.examples).batches(config), config)
    torch.manual_seed(4)
    return made


def test_it_goes_on_bit_for_bit_before_and_after_its_linear_start_ends() -> None:
    whole = trainer(3)
    losses = [report.loss for report in whole.steps()]
    assert int(whole.model.state_dict()["start.left"]) == 0
    for stop in (2, 4):
        half = trainer(3)
        steps = half.steps()
        for _ in range(stop):
            next(steps)
        tensors = {part: {name: value.clone() for name, value in own.items()} for part, own in half.tensors().items()}
        later = trainer(3)
        later.restore(tensors, half.state())
        assert int(later.model.state_dict()["start.left"]) == max(3 - stop, 0)
        assert [report.loss for report in later.steps()] == losses[stop:]
        for name, value in later.model.state_dict().items():
            assert torch.equal(value, whole.model.state_dict()[name]), name


def test_linear_steps_make_another_model_until_they_are_over() -> None:
    linear, soft = model(linear_steps=1), model()
    linear.load_state_dict(soft.state_dict(), strict=False)
    assert not torch.allclose(linear.logits(story()), soft.logits(story()))
    assert linear.start is not None
    linear.start.count()
    torch.testing.assert_close(linear.logits(story()), soft.logits(story()))


def test_empty_memories_are_in_training_only() -> None:
    made = model(empty_memories=0.9)
    torch.manual_seed(1)
    quiet = made.logits(story())
    assert torch.equal(quiet, made.logits(story()))
    made.train()
    assert len({tuple(made.logits(story()).flatten().tolist()) for _ in range(6)}) > 1


def test_statements_beyond_the_memory_are_those_of_long_ago() -> None:
    one = tiny("memory_network")
    reader = type(one.task.reader)(one.task.reader.config, one.task.reader.tokenizer, 2)
    known = one.examples[2].input
    batch, short = (
        reader.encode([known]).batch([0]),
        reader.encode([replace(known, statements=known.statements[2:])]).batch([0]),
    )
    assert torch.equal(batch.tokens, short.tokens)
    assert list(reader.axes(one.examples[2])["input"].marked) == [0]
