"""Small models of every system, and batches for them."""

import dataclasses
import random
from typing import Any

import torch
from torch import Tensor, nn

from saccade import systems
from saccade.data.tensors import Batch, TextInput, TextTarget, padded
from saccade.data.tokenizers import END, START, learned_layout
from saccade.systems.system import System

SMALL = 16  # where a default is larger
DEEP = 2  # layers: many loud ones would make rounding errors of each other's
SIZE = 11  # of both vocabularies
VOCABULARY = learned_layout(SIZE)
LENGTHS = [(3, 4), (7, 2), (1, 6), (5, 1), (7, 5)]  # of sources and targets


def texts() -> list[str]:
    """The systems that read and write text."""
    return [name for name in systems.names() if (systems.load(name).READS, systems.load(name).WRITES) == ("text", "text")]


def small(kind: type, **given: Any) -> Any:
    """A config of this class whose sizes are small."""
    sizes = {
        field.name: min(field.default, DEEP if "layers" in field.name else SMALL)
        for field in dataclasses.fields(kind)
        if isinstance(field.default, int) and not isinstance(field.default, bool)
    }
    return kind(**{**sizes, **given})


def model(name: str, *, loud: float = 1.5, **given: Any) -> Any:
    """A model with weights large enough that everything it reads makes a difference."""
    module = systems.load(name)
    made: System = module.Model(small(module.Config, **given), source=VOCABULARY, target=VOCABULARY)
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(0.1 * torch.randn_like(weight)).mul_(loud)
    return made.eval()


def rows(seed: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and targets of very different lengths; a target ends with END."""
    dice = random.Random(seed)

    def row(length: int) -> list[int]:
        return [dice.randrange(END + 1, SIZE) for _ in range(length)]

    return [row(source) for source, _ in LENGTHS], [[*row(target - 1), END] for _, target in LENGTHS]


def text_batch(sources: list[list[int]], targets: list[list[int]], label_smoothing: float = 0.0) -> Batch:
    """A batch of these rows."""
    first = torch.full((len(targets),), START)
    return Batch(TextInput(*padded(sources)), TextTarget(*padded(targets), first, label_smoothing))


def batch(chosen: list[int] | None = None) -> Batch:
    """All rows, or some."""
    sources, targets = rows()
    chosen = list(range(len(sources))) if chosen is None else chosen
    return text_batch([sources[i] for i in chosen], [targets[i] for i in chosen])


def gradients(made: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    """Of every parameter; 0 where there is none."""
    named = dict(made.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(named, found, strict=True))


def close(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float) -> None:
    """Equal up to this share of the largest number of each tensor."""
    assert one.keys() == other.keys()
    for name, tensor in other.items():
        scale = max(1.0, float(tensor.abs().max()))
        difference = float((one[name].double() - tensor.double()).abs().max())
        assert difference <= tolerance * scale, f"{name}: {difference:.3g} apart, of {scale:.3g}"


def learn_to_copy(one: System, steps: int, lengths: tuple[int, ...]) -> list[float]:
    """Losses per token of so many steps towards writing what was read."""
    optimizer = torch.optim.Adam(one.parameters(), 0.02)
    generator, losses = torch.Generator().manual_seed(1), []
    for _ in range(steps):
        sources = [torch.randint(3, SIZE, (length,), generator=generator).tolist() for length in lengths * 8]
        given = text_batch(sources, [[*row, END] for row in sources])
        output = one(given)
        loss = output.loss / output.count
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(one.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
