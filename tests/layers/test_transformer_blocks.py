"""The blocks of a Transformer: parity with torch, layer norm, and what lets positions see each other."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import lengths
from saccade.data.tensors import Batch
from saccade.data.tokenizers import START
from saccade.layers import MultiHeadAttention
from saccade.layers.feed_forward import FeedForward
from saccade.layers.transformer_blocks import DecoderLayer, EncoderLayer, Norm, Residual, SelfAttention
from saccade.search import forced
from saccade.systems.transformer import Config, Model

from ..systems.samples import SIZE, VOCABULARY, batch, close, gradients, rows

WIDTH, HEADS, HIDDEN = 12, 3, 20


def torchs(norm: Norm) -> nn.Transformer:
    """Their model with every weight drawn: biases and norms, too."""
    theirs = nn.Transformer(WIDTH, HEADS, 2, 3, HIDDEN, dropout=0.0, batch_first=True, norm_first=norm == "pre")
    for weight in theirs.parameters():
        nn.init.normal_(weight, mean=float(weight.dim() == 1), std=0.3)
    # In training: their quick way for evaluation leaves padding out, and dropout is 0.
    return theirs.train()


def copied(theirs: nn.Transformer, norm: Norm) -> Model:
    config = Config(
        hidden_size=WIDTH, num_heads=HEADS, intermediate_size=HIDDEN, encoder_layers=2, decoder_layers=3, norm=norm
    )
    ours = Model(config, VOCABULARY, VOCABULARY)
    for one, other in zip(ours.encoder, theirs.encoder.layers, strict=True):
        assert isinstance(one, EncoderLayer)
        assert isinstance(one.mixer, SelfAttention)
        assert isinstance(other, nn.TransformerEncoderLayer)
        one.mixer.attention = MultiHeadAttention.from_torch(other.self_attn)
        one.network.into, one.network.out = other.linear1, other.linear2
        one.mixed.norm, one.worked.norm = other.norm1, other.norm2
    for layer, source in zip(ours.decoder, theirs.decoder.layers, strict=True):
        assert isinstance(layer, DecoderLayer)
        assert isinstance(layer.mixer, SelfAttention)
        assert isinstance(source, nn.TransformerDecoderLayer)
        layer.mixer.attention = MultiHeadAttention.from_torch(source.self_attn)
        layer.cross = MultiHeadAttention.from_torch(source.multihead_attn)
        layer.network.into, layer.network.out = source.linear1, source.linear2
        layer.mixed.norm, layer.crossed.norm, layer.worked.norm = source.norm1, source.norm2, source.norm3
    assert isinstance(theirs.encoder.norm, nn.LayerNorm)
    assert isinstance(theirs.decoder.norm, nn.LayerNorm)
    ours.encoder_norm, ours.decoder_norm = theirs.encoder.norm, theirs.decoder.norm
    return ours.eval()


def embedded(ours: Model, tokens: Tensor) -> Tensor:
    vectors: Tensor = ours.target_embedding(tokens) * WIDTH**0.5 + ours.positions(0, tokens.shape[1])
    return vectors


def their_log_probs(theirs: nn.Transformer, ours: Model, given: Batch) -> Tensor:
    """(B, T, V) through torch's layers."""
    closed = torch.arange(given.input.tokens.shape[1]) >= given.input.lengths[:, None]
    future = torch.ones(given.target.tokens.shape[1], given.target.tokens.shape[1], dtype=torch.bool).triu(1)
    hidden = theirs(
        embedded(ours, given.input.tokens),
        embedded(ours, given.target.before()),
        tgt_mask=future,
        src_key_padding_mask=closed,
        memory_key_padding_mask=closed,
    )
    return torch.log_softmax(hidden @ ours.output.weight.T, -1)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_reader_and_writer_are_torchs(norm: Norm) -> None:
    theirs = torchs(norm)
    ours, given = copied(theirs, norm), batch()
    assert given.input.lengths.unique().numel() > 2
    closed = torch.arange(given.input.tokens.shape[1]) >= given.input.lengths[:, None]
    wanted = theirs.encoder(embedded(ours, given.input.tokens), src_key_padding_mask=closed)
    torch.testing.assert_close(ours.encode(given.input.tokens, given.input.lengths), wanted, atol=1e-5, rtol=1e-5)

    log_probs = their_log_probs(theirs, ours, given)
    live = torch.arange(given.target.tokens.shape[1]) < given.target.lengths[:, None]
    loss = F.nll_loss(log_probs[live], given.target.tokens[live], reduction="sum")
    found = ours(given).loss
    assert found.item() == pytest.approx(loss.item(), rel=1e-6)
    shared = {name: weight for name, weight in ours.named_parameters() if "attention" not in name and "cross." not in name}
    theirs_of = dict(zip(shared, torch.autograd.grad(loss, list(shared.values())), strict=True))
    ours_of = gradients(ours, found)
    close({name: ours_of[name] for name in shared}, theirs_of, 1e-5)

    memory = ours.read(given.input)
    for number, one in enumerate(forced(ours, memory, rows()[1], start=START)):
        size = given.target.lengths[number]
        chosen = log_probs[number, :size].gather(1, given.target.tokens[number, :size, None])[:, 0]
        torch.testing.assert_close(one.log_probs, chosen.detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_layer_norm_is_its_formula(norm: Norm) -> None:
    """Deviation from the mean over one position's numbers, divided by √(their variance + ε), which divides by D."""
    residual = Residual(5, 0.0, norm)
    nn.init.normal_(residual.norm.weight)
    nn.init.normal_(residual.norm.bias)

    def formula(x: Tensor) -> Tensor:
        deviation = x - x.sum(-1, keepdim=True) / 5
        variance = (deviation**2).sum(-1, keepdim=True) / 5
        return residual.norm.weight * deviation / torch.sqrt(variance + residual.norm.eps) + residual.norm.bias

    x, y = 3 + 2 * torch.randn(2, 3, 5), torch.randn(2, 3, 5)
    x[0, 0] = 1.0  # no variance: ε divides
    y[0, 0] = 0.0
    entered, left = (formula(x), x + y) if norm == "pre" else (x, formula(x + y))
    torch.testing.assert_close(residual.enter(x), entered)
    torch.testing.assert_close(residual.leave(x, y), left)
    assert residual.norm.eps == 1e-5


def encoder_layer(norm: Norm) -> EncoderLayer:
    mixer = SelfAttention(MultiHeadAttention(6, 2), lambda counts: None if counts is None else lengths(counts))
    return EncoderLayer(mixer, FeedForward(6, 10, "swish"), 6, 0.0, norm)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_only_attention_lets_positions_see_each_other(norm: Norm) -> None:
    """∂ output i / ∂ input j, as blocks: with attention's values gone only those with i = j are left."""
    layer, x, sizes = encoder_layer(norm), torch.randn(1, 4, 6), torch.tensor([4])

    def blocks() -> Tensor:
        jacobian = torch.autograd.functional.jacobian(lambda given: layer(given, sizes), x)
        assert isinstance(jacobian, Tensor)
        return jacobian[0, :, :, 0].abs().amax((1, 3))

    same = torch.eye(4, dtype=torch.bool)
    assert (blocks() > 1e-5).all()
    assert isinstance(layer.mixer, SelfAttention)
    # The bias, too: through weights that sum to one it would leave a rounding error.
    for weight in layer.mixer.attention.value_map.parameters():
        nn.init.zeros_(weight)
    alone = blocks()
    assert (alone[same] > 1e-2).all()
    assert alone[~same].eq(0).all()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_without_positions_the_reader_knows_no_order(norm: Norm) -> None:
    config = Config(hidden_size=12, num_heads=3, intermediate_size=20, encoder_layers=2, decoder_layers=1, norm=norm)
    ours = Model(config, VOCABULARY, VOCABULARY).eval()
    source, sizes, order = torch.randperm(SIZE)[None, :6], torch.tensor([6]), torch.tensor([3, 0, 5, 1, 4, 2])
    with torch.no_grad():
        ordered = ours.encode(source[:, order], sizes) - ours.encode(source, sizes)[:, order]
        ours.positions.table = torch.zeros(64, 12)
        plain = ours.encode(source[:, order], sizes) - ours.encode(source, sizes)[:, order]
    assert plain.abs().max() < 1e-5
    assert ordered.abs().max() > 0.1
