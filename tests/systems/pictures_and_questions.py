"""Pictures and questions for the tests of systems that answer: made of nothing, and the parts that all of these have."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade import systems
from saccade.data.tensors import Batch, LabelTarget, PictureInput, PictureQuestionInput, WordsInput, padded

from .samples import VOCABULARY, rows

LABELS = 3
FUSIONS = {"sum": lambda question, seen: question + seen, "product": lambda question, seen: question * (1 + seen)}


def made(name: str, **given: Any) -> Any:
    """A small model that reads 8 × 12 pixels as a grid of 4 × 6, and has opinions."""
    module = systems.load(name)
    torch.manual_seed(4)
    config = module.Config(channels=4, num_stages=2, hidden_size=6, dropout=0.0, **given)
    one = module.Model(config, channels=3, height=8, width=12, source=VOCABULARY, labels=LABELS)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return one.eval()


def batch() -> Batch:
    """A picture for each of the questions, which are of very different lengths."""
    questions, _ = rows()
    tokens, lengths = padded(questions)
    pixels = torch.randn(len(questions), 3, 8, 12, generator=torch.Generator().manual_seed(1))
    input = PictureQuestionInput(PictureInput(pixels), WordsInput(tokens, lengths))
    return Batch(input, LabelTarget(torch.arange(len(questions)) % LABELS))


def numbers(tensor: Tensor) -> Any:
    """As numpy has them."""
    return tensor.detach().double().numpy()


def linear(layer: Any, x: Any) -> Any:
    """A linear layer by hand."""
    return x @ numbers(layer.weight).T + (0 if layer.bias is None else numbers(layer.bias))


def softmax(x: Any) -> Any:
    """Over the last axis."""
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def lstm(layer: Any, x: Any) -> Any:
    """The state of a `Recurrent` after the last of these vectors (T, D), by hand."""
    hidden = memory = np.zeros(layer.hidden)
    for vector in x:
        gates = numbers(layer.input_weight) @ vector + numbers(layer.input_bias)
        gates = gates + numbers(layer.state_weight) @ hidden + numbers(layer.state_bias)
        enter, forget, new, out = np.split(gates, 4)
        memory = memory / (1 + np.exp(-forget)) + np.tanh(new) / (1 + np.exp(-enter))
        hidden = np.tanh(memory) / (1 + np.exp(-out))
    return hidden


def words_of(one: Any, given: Batch, row: int) -> Any:
    """The vectors of the words of a question (T, D)."""
    question = given.input.question
    return numbers(one.encoder.embedding.weight)[question.tokens[row, : question.lengths[row]].tolist()]


def cells_of(one: Any, given: Batch, row: int) -> Any:
    """The cells of a picture (K, F), row and column last."""
    cells = numbers(one.encoder.picture.picture(given.input.picture.pixels))[row]
    grid = np.meshgrid(*(np.linspace(-1, 1, size) for size in one.grid), indexing="ij")
    return np.concatenate((cells, np.stack(grid, -1).reshape(-1, 2)), 1) if one.config.positions else cells


class Shuffled(torch.nn.Module):
    """The cells of a picture in another order."""

    def __init__(self, grid: torch.nn.Module, order: Tensor) -> None:
        super().__init__()
        self.grid, self.order = grid, order

    def forward(self, pixels: Tensor) -> Tensor:
        cells: Tensor = self.grid(pixels)[:, self.order]
        return cells
