"""Every attention of any model is seen, and nothing changes by it: not the model, not a bit of its output, not memory."""

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules import module as torch_module

import saccade
from saccade.errors import SaccadeError
from saccade.inside import looking, packed_masks
from saccade.layers import MultiHeadAttention

from .families import LEFT_PADDED, NAMES, inputs, kept, model, seen

FIELDS = ("encoder_attentions", "attentions", "decoder_attentions", "cross_attentions")


def own_weights(name: str, given: dict[str, Tensor]) -> list[Tensor]:
    """What transformers itself gives with output_attentions=True, which only its eager form does, in order."""
    with torch.no_grad():
        output = model(name, "eager")(**given, output_attentions=True)
    parts = [output.get(field) or () for field in FIELDS]
    if name in ("t5", "bart", "whisper"):
        encoder, _, decoder, crossing = parts
        return [*encoder, *(one for pair in zip(decoder, crossing, strict=True) for one in pair)]
    return [one for part in parts for one in part]


def close(name: str, given: dict[str, Tensor], weights: Tensor, expected: Tensor) -> bool:
    """But for the rows of padding, which see nothing."""
    rows = given["attention_mask"].bool()[:, None, :, None] if name in LEFT_PADDED else torch.tensor(True)
    return bool(((weights - expected).abs() * rows).max() < 1e-5)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_those_of_the_model_and_its_output_keeps_every_bit(
    name: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_masks, "SMALL", 0)
    given, own = inputs(name), model(name, attention)
    with torch.no_grad():
        plain = own(**given)["logits"]
        with looking(own) as looks:
            watched = own(**given)["logits"]
    assert torch.equal(plain, watched)
    expected = own_weights(name, given)
    found = [one.weights() for part in looks for one in seen(looks, part)]
    assert len(found) == len(expected) > 0
    assert all(close(name, given, one, other) for one, other in zip(found, expected, strict=True))
    assert all(part in dict(own.named_modules()) for part in looks)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_chosen_heads_and_rows_are_those_of_all_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_masks, "SMALL", 0)
    own = model(name)
    with torch.no_grad(), looking(own) as looks:
        own(**inputs(name))
    for part in looks:
        (attended,) = seen(looks, part)
        some = attended.weights(heads=[3, 1], rows=[2, 5], batch=1)
        assert torch.allclose(some, attended.weights()[1:, [3, 1]][:, :, [2, 5]], atol=1e-6)
        assert attended.context.shape == (2, 4, attended.call.queries, 8)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["bert", "gpt2", "mistral", "t5"])
def test_what_is_kept_grows_with_the_length_alone(name: str, attention: str) -> None:
    """No tensor of all pairs, though the models make masks of them."""
    sizes = []
    for length in (200, 400):
        own = model(name, attention)
        with torch.no_grad(), looking(own) as looks:
            own(**inputs(name, length))
        tensors = kept(looks).values()
        assert all(tensor.untyped_storage().nbytes() < 4 * length * length for tensor in tensors)
        sizes.append(sum(tensor.untyped_storage().nbytes() for tensor in tensors))
    assert 1.5 < sizes[1] / sizes[0] < 2.1


def test_queries_do_not_keep_what_was_projected_with_them() -> None:
    """As in GPT-2, whose keys and values are copied into its cache; where autograd keeps all of it, nothing is copied."""

    class Joint(nn.Module):
        def forward(self, x: Tensor, copies: bool) -> Tensor:
            query, key, value = torch.cat([x, 2 * x, x], -1).split(x.shape[-1], -1)
            key, value = (key.clone(), value.clone()) if copies else (key, value)
            return F.scaled_dot_product_attention(query, key, value)

    own, x = Joint(), torch.randn(1, 2, 9, 8)
    sizes = []
    for copies, learns in [(True, False), (False, False), (True, True)]:
        with looking(own) as looks:
            own(x.clone().requires_grad_(learns), copies)
        sizes.append(sum(tensor.untyped_storage().nbytes() for tensor in kept(looks).values()) // x.nbytes)
        assert torch.allclose(seen(looks)[0].weights(), torch.softmax(x @ (2 * x).mT / 8**0.5, -1), atol=1e-6)
    assert sizes == [3, 4, 5]  # query, key and context; all three and the context; all three, the copied key and the context


@pytest.mark.parametrize("options", [{}, {"cache_implementation": "static"}, {"num_beams": 2}], ids=["", "static", "beams"])
@pytest.mark.parametrize("name", ["llama", "bart"])
def test_generation_is_seen_step_by_step(name: str, options: dict[str, Any]) -> None:
    """Written tokens attend as they do when the whole text is read at once, behind left padding too."""
    own, given = model(name), {key: value for key, value in inputs(name, 5).items() if key != "decoder_input_ids"}
    call = {
        **given,
        **options,
        "max_new_tokens": 4,
        "do_sample": False,
        "return_dict_in_generate": True,
        "output_logits": True,
    }
    plain = own.generate(**call)
    with looking(own) as looks:
        watched = own.generate(**call)
    assert torch.equal(plain.sequences, watched.sequences)
    assert all(torch.equal(one, other) for one, other in zip(plain.logits, watched.logits, strict=True))
    if "num_beams" in options:
        return
    part = "model.layers.1.self_attn" if name == "llama" else "model.decoder.layers.1.self_attn"
    ids = watched.sequences[:, :-1]
    whole = {**given, "decoder_input_ids": ids} if name == "bart" else {"input_ids": ids}
    if name == "llama":
        whole["attention_mask"] = torch.cat((given["attention_mask"], torch.ones(2, 3, dtype=torch.int64)), 1)
    with torch.no_grad(), looking(own) as at_once:
        own(**whole)
    expected = seen(at_once, part)[0].weights()[:, :, -4:]
    for step, one in enumerate(seen(looks, part)):
        width = expected.shape[-1] - 3 + step
        assert torch.allclose(one.weights(rows=[-1])[..., 0, :width], expected[:, :, step, :width], atol=1e-5)


class Watched(nn.Module):
    """One call of torch's attention."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, **self.options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"attn_mask": torch.rand(5, 7) < 0.7},
        {"attn_mask": torch.randn(2, 1, 5, 7)},
        {"enable_gqa": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_torch_attention_is_seen_with_its_arguments(options: dict[str, Any]) -> None:
    heads = 2 if "enable_gqa" in options else 4
    query, key, value = torch.randn(2, 4, 5, 8), torch.randn(2, heads, 7, 8), torch.eye(7).expand(2, heads, 7, 7)
    own = Watched(**options)
    with looking(own) as looks:
        weights = own(query, key, value)
    (attended,) = seen(looks)
    assert torch.allclose(attended.weights(), weights, atol=1e-6)
    assert torch.equal(attended.context, weights)


def test_saccade_itself_is_seen_once() -> None:
    own = nn.Sequential(MultiHeadAttention(16, 4), nn.MultiheadAttention(16, 4)).eval()
    x = torch.randn(2, 5, 16)
    with torch.no_grad(), saccade.looking(own) as looks:
        own[1](x, x, own[0](x))
    assert {name: len(seen(looks, name)) for name in looks} == {"0": 1, "1": 1}


def test_keys_that_are_changed_later_are_copied_before() -> None:
    own, query, key = Watched(), torch.randn(1, 1, 6, 4), torch.randn(1, 1, 6, 4)
    expected = torch.softmax(query @ key.mT / 2, -1)
    with torch.no_grad(), looking(own) as looks:
        own(query, key, key)
        key[:, :, 2:] = 0
    assert torch.allclose(seen(looks)[0].weights(), expected)


def test_what_changed_unseen_is_not_shown() -> None:
    own, key = Watched(), torch.randn(1, 1, 6, 4)
    with torch.no_grad(), looking(own) as looks:
        own(torch.randn(1, 1, 6, 4), key, key)
    key.zero_()
    with pytest.raises(SaccadeError, match="changed in place after the call"):
        seen(looks)


def test_nothing_stays_on_torch() -> None:
    own = nn.MultiheadAttention(8, 2)
    with looking(own):
        own(*[torch.randn(3, 8)] * 3)
    with pytest.raises(AssertionError, match="expecting"), looking(own):
        own(*[torch.randn(3, 9)] * 3)
    assert not torch_module._has_any_global_hook()
    assert torch.overrides._get_current_function_mode_stack() == []
    assert all(not part._forward_hooks and not part._forward_pre_hooks for part in own.modules())


def test_an_error_inside_a_fast_module_leaves_the_recording_in_step() -> None:
    own = nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with torch.no_grad(), looking(own) as looks:
        with pytest.raises(Exception, match=r"expect|match|size|shape"):
            own(torch.randn(2, 3, 9))
        own(torch.randn(2, 3, 8))
    assert {name: len(seen(looks, name)) for name in looks} == {"self_attn": 1}


def test_no_warning_where_all_is_seen() -> None:
    with warnings.catch_warnings(record=True) as told, torch.no_grad(), looking(model("bert")):
        warnings.simplefilter("always")
        model("bert")(**inputs("bert"))
    assert told == []
