"""Both streams are those of transformers, with segments, padding and memory; the query stream never sees its own token."""

from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.layers.position_embeddings import sinusoids
from saccade.layers.two_stream_encoder import Memory, Queries, TwoStreamEncoder

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS, EPS = 30, 16, 4, 24, 3, 1e-3
K, M = 7, 5
TOLERANCES = ((torch.float32, 1e-5), (torch.float64, 1e-10))
LIVE = torch.arange(K) < torch.tensor([[7], [5]])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1, 1, 2], [0, 0, 1, 1, 2, 0, 0]])
PLACES, RANKS = torch.tensor([[4, 1, 5], [0, 2, 0]]), torch.tensor([[1, 2, 3], [1, 2, 0]])  # of the second text two only
RANK = torch.tensor([[0, 2, 0, 0, 1, 3, 0], [1, 0, 2, 0, 0, 0, 0]])  # the same by place


def encoder(**changed: Any) -> TwoStreamEncoder:
    sizes: dict[str, Any] = {"layers": LAYERS, "heads": HEADS, "hidden": HIDDEN, "activation": "gelu", "dropout": 0.0}
    torch.manual_seed(1)
    made = TwoStreamEncoder(VOCABULARY, WIDTH, **{**sizes, "eps": EPS, **changed})
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter)).mul_(1.5)
    return made


def tokens(size: int = K) -> Tensor:
    return torch.randint(0, VOCABULARY, (2, size), generator=torch.Generator().manual_seed(size))


def published() -> tuple[TwoStreamEncoder, Any]:
    """An encoder, and transformers' model with its parameters."""
    transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    own = encoder().eval()
    sizes = {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "d_inner": HIDDEN}
    model = transformers.XLNetModel(transformers.XLNetConfig(**sizes, layer_norm_eps=EPS, mem_len=None)).eval()
    with torch.no_grad():
        model.word_embedding.load_state_dict(own.embedding.state_dict())
        for layer, theirs in zip(own.layers, model.layer, strict=True):
            ours: Any = layer
            attention, there = ours.attention, theirs.rel_attn
            pairs = (attention.query_map, there.q), (attention.key_map, there.k), (attention.value_map, there.v)
            for one, other in (*pairs, (attention.distance_map, there.r)):
                other.copy_(one.weight.t().view(other.shape))
            there.o.copy_(attention.output_map.weight.view(there.o.shape))
            there.r_w_bias.copy_(attention.content_bias)
            there.r_r_bias.copy_(attention.distance_bias)
            there.r_s_bias.copy_(attention.segment_bias)
            there.seg_embed.copy_(attention.segments)
            there.layer_norm.load_state_dict(ours.mixed.norm.state_dict())
            theirs.ff.layer_norm.load_state_dict(ours.worked.norm.state_dict())
            theirs.ff.layer_1.load_state_dict(ours.network.into.state_dict())
            theirs.ff.layer_2.load_state_dict(ours.network.out.state_dict())
    return own, model


def exact(model: Any) -> None:
    """Sines and cosines of distances, which transformers computes in float32, to that precision as we do."""

    def encoding(queries: int, keys: int, bsz: int, device: Any = None) -> Tensor:
        table = sinusoids(1 - queries, keys + 1, WIDTH, halves=True).flip(0).to(model.dtype)
        return table[:, None].expand(-1, bsz, -1)

    model.relative_positional_encoding = encoding


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "tolerance"), TOLERANCES)
def test_streams_and_memory_are_those_of_transformers(dtype: torch.dtype, tolerance: float) -> None:
    own, model = published()
    own.to(dtype)
    model.to(dtype)
    if dtype == torch.float64:
        exact(model)
    close: dict[str, Any] = {"atol": tolerance, "rtol": tolerance}
    with torch.no_grad():
        wanted = model(tokens(), attention_mask=LIVE.to(dtype), token_type_ids=SEGMENTS).last_hidden_state
        assert wanted.std() > 0.5
        torch.testing.assert_close(own(tokens(), LIVE, SEGMENTS)[0][LIVE], wanted[LIVE], **close)
        before = tokens(M)
        memory = own.remember(before, torch.ones(2, M).bool())
        remembered = model(before, token_type_ids=torch.zeros_like(before), use_mems=True).mems
        for one, other in zip(memory.states, remembered, strict=True):
            torch.testing.assert_close(one, other.transpose(0, 1), **close)
        closed = ~((RANK[:, None] < RANK[:, :, None]) | ((RANK[:, None] == 0) & (RANK[:, :, None] == 0)))
        mapping = torch.nn.functional.one_hot(PLACES, K) * (RANKS > 0)[..., None]
        masks = {"perm_mask": closed.to(dtype), "target_mapping": mapping.to(dtype)}
        for known, mems in ((None, None), (memory, remembered)):
            found = own(tokens(), LIVE, SEGMENTS, Queries(PLACES, RANKS, model.mask_emb[0]), known)
            given = {"attention_mask": LIVE.to(dtype), "token_type_ids": SEGMENTS, "mems": mems, **masks}
            all_of = model(tokens(), **given, output_hidden_states=True).hidden_states
            torch.testing.assert_close(found[0][LIVE], all_of[-2][LIVE], **close)
            torch.testing.assert_close(found[1][RANKS > 0], all_of[-1][RANKS > 0], **close)


@pytest.mark.parametrize("training", [False, True])
def test_the_query_stream_sees_nothing_of_its_own_token_or_of_later_ones(training: bool) -> None:
    """And so the gradient is zero, not small; the content stream sees its own token and none that comes later."""
    own = encoder(dropout=0.1).train(training)
    embedded: list[Tensor] = []
    own.embedding.register_forward_hook(lambda module, args, out: embedded.append(out))
    memory = own.remember(tokens(M), torch.ones(2, M).bool())
    content, queries = own(tokens(), LIVE, SEGMENTS, Queries(PLACES, RANKS, torch.zeros(1, WIDTH)), memory)

    def reaches(output: Tensor) -> Tensor:
        """Of each token, whether any gradient comes to its embedding."""
        (found,) = torch.autograd.grad(output.square().sum(), embedded[-1], retain_graph=True)
        return (found != 0).any(-1)

    for row in range(2):
        for slot, place in enumerate(PLACES[row].tolist()):
            rank = int(RANKS[row, slot])
            if not rank:
                continue
            seen = torch.zeros_like(LIVE)
            seen[row] = (RANK[row] < rank) & LIVE[row]
            assert torch.equal(reaches(queries[row, slot]), seen)
            seen[row, place] = True
            assert torch.equal(reaches(content[row, place]), seen)
    given = torch.zeros_like(LIVE)
    given[0] = RANK[0] == 0
    assert torch.equal(reaches(content[0, 2]), given)
    assert not reaches(queries[1, 2]).any()  # padding


def test_memory_has_no_gradient_and_its_padding_is_not_seen() -> None:
    own = encoder()
    live = torch.arange(M) >= torch.tensor([[0], [3]])
    memory = own.remember(tokens(M), live)
    assert len(memory.states) == LAYERS
    assert not any(state.requires_grad for state in memory.states)
    alone = own.remember(tokens(M)[1:, 3:], live[1:, 3:])
    found = own(tokens(), LIVE, SEGMENTS, memory=memory)[0]
    row = own(tokens()[1:], LIVE[1:], SEGMENTS[1:], memory=alone)[0]
    torch.testing.assert_close(found[1, :5], row[0, :5])
    assert (own(tokens(), LIVE, SEGMENTS)[0] - found)[LIVE].abs().max() > 0.1
    other = Memory([torch.full_like(state, torch.nan).where(~live[..., None], state) for state in memory.states], live)
    torch.testing.assert_close(own(tokens(), LIVE, SEGMENTS, memory=other)[0], found)
