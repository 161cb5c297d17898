"""The Transformer: its sizes are the paper's, its cached steps are its loss, and it never sees what is to come."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.attention import causal
from saccade.data.tensors import Batch
from saccade.data.tokenizers import START, learned_layout
from saccade.errors import UsageError
from saccade.search import forced
from saccade.systems import transformer
from saccade.systems.transformer import PRESETS, Config, Model

from .samples import SIZE, batch, model, rows

VARIANTS: list[dict[str, Any]] = [
    {},
    {"score": "additive"},
    {"normalize": "sparsemax"},
    {"normalize": "entmax15"},
    {"mask": "window(2)"},
    {"mask": "strided(2)"},
    {"mask": "fixed(3, 1)"},
    {"norm": "pre"},
    {"final_norm": "none"},
    {"positions": "learned"},
    {"positions": "sinusoidal_halves"},
    {"embeddings": "output"},
    {"embeddings": "separate"},
    {"activation": "swish"},
    {"embedding_scale": "one"},
    {"output_bias": "learned"},
]
variants = pytest.mark.parametrize("keys", VARIANTS, ids=lambda keys: "-".join(keys.values()) or "paper")


def made(**keys: Any) -> Model:
    built: Model = model("transformer", loud=1.0, **{"num_heads": 2, **keys})
    return built


def whole(one: Model, given: Batch, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """Log-probabilities of every token at every live place of the targets, (N, V), from what the loss is made of."""
    found: list[Tensor] = []

    def spy(hidden: Tensor, weight: Tensor, bias: Tensor, answers: Tensor, smoothing: float) -> Tensor:
        found.append(torch.log_softmax(hidden @ weight.T + bias, -1))
        return -found[-1].gather(1, answers[:, None]).sum()

    with monkeypatch.context() as patch:
        patch.setattr(transformer, "linear_cross_entropy", spy)
        loss = one(given).loss
    torch.testing.assert_close(loss, one(given).loss)
    return found[0]


# Its sizes


def weights(config: Config, size: int) -> int:
    """Numbers that are learned; without memory for them."""
    with torch.device("meta"):
        one = Model(config, learned_layout(size), learned_layout(size))
    return sum(weight.numel() for weight in one.parameters())


def test_the_base_model_has_as_many_weights_as_counted_by_hand() -> None:
    base = Config(**PRESETS["base"]["model"])
    assert weights(base, 37_000) == 63_084_544
    assert weights(base, 32_768) == 60_917_760


def test_the_big_model_has_as_many_weights_as_counted_by_hand() -> None:
    assert weights(Config(**PRESETS["big"]["model"]), 37_000) == 214_249_472
    assert weights(Config(**PRESETS["big"]["model"] | {"final_norm": "none"}), 32_768) == 209_911_808


def test_the_tiny_model_is_as_small_as_it_is_said_to_be() -> None:
    assert weights(Config(**PRESETS["tiny"]["model"]), 9_700) == pytest.approx(2.57e6, rel=0.01)


def test_weights_are_made_of_layers_embeddings_and_norms() -> None:
    """The count of any size, from the paper's equations."""
    config = Config(hidden_size=12, num_heads=3, intermediate_size=20, encoder_layers=2, decoder_layers=3, final_norm="both")
    D, F, V = 12, 20, 50
    attention, network, norm = 4 * (D * D + D), 2 * D * F + D + F, 2 * D
    encoder, decoder = attention + network + 2 * norm, 2 * attention + network + 3 * norm
    layers = 2 * encoder + 3 * decoder
    assert weights(config, V) == layers + 2 * norm + V * D
    assert weights(replace(config, final_norm="none"), V) == layers + V * D
    assert weights(replace(config, final_norm="auto"), V) == layers + V * D
    assert weights(replace(config, final_norm="auto", norm="pre"), V) == layers + 2 * norm + V * D
    assert weights(replace(config, embeddings="output"), V) == layers + 2 * norm + 2 * V * D
    assert weights(replace(config, embeddings="separate"), V) == layers + 2 * norm + 3 * V * D
    assert weights(replace(config, positions="learned", max_positions=7), V) == layers + 2 * norm + V * D + 7 * D


def test_heads_that_do_not_divide_the_width_are_refused_in_one_line() -> None:
    with pytest.raises(UsageError) as error:
        Config(num_heads=6)
    assert str(error.value) == "num_heads: expected a divisor of hidden_size (128), got 6"


def test_one_set_of_vectors_needs_one_vocabulary() -> None:
    config = Config(hidden_size=4, num_heads=1, intermediate_size=4, encoder_layers=1, decoder_layers=1)
    sides = learned_layout(5), learned_layout(6)
    with pytest.raises(UsageError) as error:
        Model(config, *sides)
    assert "got 5 and 6 tokens; set writer.share_tokenizer=true" in str(error.value)
    assert "\n" not in str(error.value)
    assert Model(replace(config, embeddings="output"), *sides).output.weight.shape == (6, 4)


# Its steps


@variants
@pytest.mark.parametrize("kernels", ["on", "off"])
def test_its_cached_steps_are_its_loss(keys: dict[str, str], kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    one, given = made(**keys), batch()
    targets = rows()[1]
    with torch.no_grad():
        log_probs = whole(one, given, monkeypatch).split(given.target.lengths.tolist())
        found = forced(one, one.read(given.input), targets, start=START, looks=True)
    for told, wanted, text in zip(found, log_probs, targets, strict=True):
        chosen = wanted.gather(1, torch.tensor(text)[:, None])[:, 0]
        torch.testing.assert_close(told.log_probs, chosen, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("keys", [{"mask": "window(2)"}, {"mask": "strided(2)"}, {"mask": "none"}], ids=str)
def test_its_steps_look_where_the_mask_lets_them(keys: dict[str, str]) -> None:
    one, given = made(**keys), batch()
    found = forced(one, one.read(given.input), rows()[1], start=START, looks=True)
    for told, size in zip(found, given.input.lengths.tolist(), strict=True):
        T = len(told.log_probs)
        assert [look.keys for look in told.looks] == ["input", "written"] * 2
        for look, before in zip(told.looks[::2], told.looks[1::2], strict=True):
            read, written = look.weights, before.weights
            torch.testing.assert_close(read.sum(-1), torch.ones(2, T))
            assert read[..., size:].eq(0).all()
            seen = (causal() if one.mask is None else causal() & one.mask).dense(T, T)
            assert torch.equal(written > 0, seen.expand(2, T, T))
            torch.testing.assert_close(written.sum(-1), torch.ones(2, T))


@variants
def test_what_is_to_come_changes_no_bit_and_has_no_gradient(keys: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    one, given = made(**keys), batch([4])
    T, embedded = given.target.tokens.shape[1], []
    assert T == 5
    handle = one.target_embedding.register_forward_hook(lambda module, inputs, output: embedded.append(output))
    log_probs = whole(one, given, monkeypatch)
    handle.remove()
    vectors = embedded[0 if one.source_embedding is not one.target_embedding else 1]
    assert vectors.shape[1] == T
    for j in range(T - 1):
        tokens = given.target.tokens.clone()
        tokens[0, j] = 3 + (tokens[0, j] - 2) % (SIZE - 3)  # another token
        changed = whole(one, replace(given, target=replace(given.target, tokens=tokens)), monkeypatch)
        assert torch.equal(changed[: j + 1], log_probs[: j + 1])
        assert not torch.equal(changed[j + 1], log_probs[j + 1])
        (grad,) = torch.autograd.grad(log_probs[: j + 1, 3:].square().sum(), vectors, retain_graph=True)
        assert grad[0, j + 1 :].eq(0).all()
        assert grad[0, j].abs().max() > 0


def test_choosing_inputs_copies_no_key_and_no_value() -> None:
    one, given = made(), batch()
    with torch.no_grad():
        memory = one.read(given.input)
    chosen = memory.select(torch.tensor([3, 0]))
    for before, after in zip(memory.layers, chosen.layers, strict=True):
        assert before.key.data_ptr() == after.key.data_ptr()
        assert before.value.data_ptr() == after.value.data_ptr()
    targets = rows()[1]
    whole_found = forced(one, memory, targets, start=START)
    found = forced(one, chosen, [targets[3], targets[0]], start=START)
    for told, wanted in zip(found, (whole_found[3], whole_found[0]), strict=True):
        torch.testing.assert_close(told.log_probs, wanted.log_probs, atol=1e-6, rtol=1e-6)


def test_a_state_can_be_taken_up_again_after_another_went_on() -> None:
    one, given = made(), batch()
    with torch.no_grad():
        first = one.step(given.target.before()[:, :1], one.start(one.read(given.input)))
        tokens = torch.full((5, 1), 4)
        once = one.step(tokens, first.state)
        one.step(tokens + 1, once.state)
        again = one.step(tokens, first.state)
        alone = one.step(tokens[:2], first.state.select(torch.tensor([3, 1]), torch.zeros(2, 1, dtype=torch.long)))
    assert torch.equal(again.log_probs, once.log_probs)
    torch.testing.assert_close(alone.log_probs, once.log_probs[[3, 1]], atol=1e-6, rtol=1e-6)


# Where it looks while it reads


@pytest.mark.parametrize("normalize", ["softmax", "sparsemax"])
def test_the_reader_looks_at_what_is_there(normalize: str) -> None:
    one, given = made(normalize=normalize), batch()
    found = one.reading(given.input)
    B, K = given.input.tokens.shape
    assert [look.name for look in found] == ["encoder self-attention, layer 1", "encoder self-attention, layer 2"]
    assert {(look.queries, look.keys) for look in found} == {("input", "input")}
    closed = torch.arange(K) >= given.input.lengths[:, None]
    for weights in (look.weights for look in found):
        assert weights.shape == (B, 2, K, K)
        torch.testing.assert_close(weights.sum(-1), torch.ones(B, 2, K))
        assert weights.masked_select(closed[:, None, None]).eq(0).all()


def test_a_windowed_reader_looks_no_further() -> None:
    one, given = made(mask="window(1)"), batch()
    far = (torch.arange(7)[:, None] - torch.arange(7)).abs() > 1
    seen = one.reading(given.input)
    assert len(seen) == one.config.encoder_layers
    for weights in (look.weights for look in seen):
        assert weights[..., far].eq(0).all()
        assert weights[1].diagonal(dim1=-2, dim2=-1).gt(0).all()
