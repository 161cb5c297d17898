"""The encoder is torch's own post-norm layers behind the sum of three embeddings; its head is a transform and a norm."""

import torch
from torch import nn

from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.text_encoder import MaskedHead, TextEncoder
from saccade.layers.transformer_blocks import EncoderLayer

WIDTH, HEADS, HIDDEN, EPS = 12, 3, 20, 1e-3


def test_it_is_torchs_layers_behind_the_sum_of_three_embeddings() -> None:
    own = TextEncoder(30, WIDTH, layers=2, heads=HEADS, hidden=HIDDEN, max_positions=9, first=2, eps=EPS).eval()
    tokens, lengths = torch.randint(0, 30, (2, 7)), torch.tensor([7, 4])
    segments = (torch.arange(7) > 2).long().expand(2, 7)
    x = own.embedding(tokens) + own.positions.table[2:9] + own.segment_embedding(segments)
    x = nn.functional.layer_norm(x, (WIDTH,), own.embedding_norm.weight, own.embedding_norm.bias, EPS)
    padding = torch.arange(7) >= lengths[:, None]
    for layer in own.layers:
        assert isinstance(layer, EncoderLayer)
        theirs = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, 0.0, "gelu", EPS, batch_first=True).eval()
        attention = layer.mixer.attention  # type: ignore[attr-defined]
        assert isinstance(attention, MultiHeadAttention)
        with torch.no_grad():
            maps = (attention.query_map, attention.key_map, attention.value_map)
            theirs.self_attn.in_proj_weight.copy_(torch.cat([one.weight for one in maps]))
            theirs.self_attn.in_proj_bias.copy_(torch.cat([one.bias for one in maps]))
            theirs.self_attn.out_proj.load_state_dict(attention.output_map.state_dict())
            theirs.linear1.load_state_dict(layer.network.into.state_dict())
            theirs.linear2.load_state_dict(layer.network.out.state_dict())
        x = theirs(x, src_key_padding_mask=padding)
    found = own(tokens, lengths, segments)
    torch.testing.assert_close(found[~padding], x[~padding], atol=1e-5, rtol=1e-5)


def test_one_segment_is_that_of_every_token() -> None:
    own = TextEncoder(30, WIDTH, layers=1, heads=HEADS, hidden=HIDDEN, max_positions=9, segments=1).eval()
    tokens, lengths = torch.randint(0, 30, (2, 7)), torch.tensor([7, 4])
    assert torch.equal(own(tokens, lengths, torch.zeros(2, 7).long()), own(tokens, lengths, torch.ones(2, 7).long()))


def test_the_head_is_a_transform_and_a_norm_and_its_bias_begins_at_zero() -> None:
    head, x = MaskedHead(WIDTH, 30, "gelu", EPS), torch.randn(5, WIDTH)
    wanted = nn.functional.layer_norm(nn.functional.gelu(head.transform(x)), (WIDTH,), eps=EPS)
    torch.testing.assert_close(head(x), wanted)
    assert torch.equal(head.bias, torch.zeros(30))
