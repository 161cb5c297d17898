"""What a hypothesis has behind it goes with it: beams whose order changes are scored as their texts are, read at once."""

from typing import Any

import pytest
import torch
from torch import Tensor

from saccade import systems
from saccade.data.tensors import TextInput, padded
from saccade.data.tokenizers import END, learned_layout
from saccade.search import Config, search
from tests.search.writers import IDS
from tests.systems.samples import text_batch

SIZE = 12
SMALL: dict[str, dict[str, Any]] = {
    "transformer": {"hidden_size": 8, "num_heads": 2, "intermediate_size": 16, "encoder_layers": 1, "decoder_layers": 2}
    | {"positions": "sinusoidal", "final_norm": "both"},
    "luong": {"embedding_size": 8, "hidden_size": 8},
    "bahdanau": {"embedding_size": 8, "hidden_size": 8, "readout_size": 6},
    "seq2seq": {"embedding_size": 8, "hidden_size": 8},
}
SOURCES = [[4, 5, 6, 7], [9], [11, 4, 8], [5, 5], [10, 7, 6, 4, 8], [8, 9], [6], [7, 11, 10]]
BEAMS = Config(method="beam", beam=4, n_best=4, max_length=8, length_penalty=1.0)


def lively(name: str) -> Any:
    """A model whose next token depends much on those before."""
    module = systems.load(name)
    model = module.Model(module.Config(**SMALL[name]), learned_layout(SIZE), learned_layout(SIZE))
    generator = torch.Generator().manual_seed(1)  # by which hypotheses overtake each other
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.7, generator=generator)
    return model.eval()


def apart(model: Any) -> float:
    """How far the scores of texts are from the loss that is trained, which knows no beams and no cache."""
    with torch.inference_mode():
        found = search(model, model.read(TextInput(*padded(SOURCES))), BEAMS, inputs=len(SOURCES), **IDS)
        pairs = [(source, one) for source, texts in zip(SOURCES, found, strict=True) for one in texts]
        targets = [[*one.tokens, *[END] * one.finished] for _, one in pairs]
        losses = [float(model(text_batch([pair[0]], [row])).loss) for pair, row in zip(pairs, targets, strict=True)]
    return max(abs(one.log_prob + loss) for (_, one), loss in zip(pairs, losses, strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_what_was_written_goes_with_its_hypothesis(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = lively(name)
    with torch.inference_mode():
        kind = type(model.start(model.read(TextInput(*padded(SOURCES)))))
    real = kind.select
    chosen: list[Tensor] = []

    def noted(self: Any, inputs: Tensor, hypotheses: Tensor) -> Any:
        chosen.append(hypotheses.clone())
        return real(self, inputs, hypotheses)

    def in_place(self: Any, inputs: Tensor, hypotheses: Tensor) -> Any:
        chosen.append(hypotheses.clone())
        order = torch.arange(hypotheses.shape[1]).expand_as(hypotheses)
        return real(self, inputs, order if len(chosen) > 1 else hypotheses)  # the first makes many of one

    monkeypatch.setattr(kind, "select", noted)
    assert apart(model) < 1e-4
    moved = [rows for rows in chosen[1:] if not torch.equal(rows, torch.arange(rows.shape[1]).expand_as(rows))]
    assert len(moved) > 1, "the order of beams must change"
    chosen.clear()
    monkeypatch.setattr(kind, "select", in_place)
    assert apart(model) > 1e-2, "this test must notice states that stay where they are"
