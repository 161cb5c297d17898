"""The closed form of one's own config counts what its model has."""

import pytest
import torch

from saccade import systems
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.planning.architectures import total
from saccade.planning.own_models import architecture_of, context_of
from saccade.training.settings import resolve


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("model.preset=base",),
        ("model.norm=pre", "model.positions=learned"),
        ("model.encoder_layers=1", "model.final_norm=both", "model.intermediate_size=24"),
    ],
)
def test_a_transformer(words: tuple[str, ...]) -> None:
    settings = resolve({"system": "transformer"}, words)
    assert settings.tokens is not None
    known = Vocabulary(size=settings.tokens.size, pad=0, start=1, end=2)
    with torch.device("meta"):
        model = systems.load("transformer").Model(settings.model, known, known)
    assert total(architecture_of(settings)) == sum(one.numel() for one in model.parameters())
    assert context_of(settings) == 0


def test_a_gpt2() -> None:
    settings = resolve({"system": "gpt2"}, ("model.num_layers=3", "writer.context_length=40"))
    assert settings.tokens is not None
    known = Vocabulary(size=settings.tokens.size, pad=0, start=1, end=2)
    with torch.device("meta"):
        model = systems.load("gpt2").Model(settings.model, known, 40)
    assert total(architecture_of(settings)) == sum(one.numel() for one in model.parameters())
    assert context_of(settings) == 40


@pytest.mark.parametrize(("system", "words"), [("bahdanau", ()), ("transformer", ("model.mixer=light",))])
def test_others_can_only_be_measured(system: str, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=f"got {system}; leave devices out to measure it"):
        architecture_of(resolve({"system": system}, words))


def test_separate_embeddings_are_refused() -> None:
    with pytest.raises(UsageError, match=r"model\.embeddings: expected one"):
        architecture_of(resolve({"system": "transformer"}, ("model.embeddings=separate",)))
