"""An LSTM that attends to all it has been: an LSTM where it attends to the step before, causal, the same step by step."""

import torch
from torch import Tensor, nn

from saccade.attention import Additive, Perceptron, Positions, Score, looking
from saccade.layers.tape_lstm import PlainLSTM, TapeLSTM


class Latest(Score):
    """The last key alone."""

    positional = True

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        distance = (at.query - at.key).to(query)
        return (-1e4 * distance).expand(*query.shape[:-1], key.shape[-2])


class Opaque(Perceptron):
    """A score that does not say which matrix its keys are multiplied with."""

    def key_weight(self) -> None:  # type: ignore[override]
        return None


def test_matrices_of_a_score_taken_out_of_the_loop_change_no_output_and_no_gradient() -> None:
    torch.manual_seed(0)
    layers = [TapeLSTM(5, 7, kind(12, 7, 6)) for kind in (Perceptron, Opaque)]
    layers[1].load_state_dict(layers[0].state_dict())
    x, pull, found = torch.randn(6, 3, 5), torch.randn(6, 3, 7), []
    for layer in layers:
        own = x.clone().requires_grad_()
        output = layer(own)
        found.append((output, *torch.autograd.grad((output * pull).sum(), [own, *layer.parameters()])))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_the_matrices_of_a_score_are_what_it_does() -> None:
    query, key = torch.randn(2, 12), torch.randn(3, 7)
    for score in (Perceptron(12, 7, 6), Additive(12, 7, 6)):
        torch.testing.assert_close(query @ score.query_weight().T, score.queries(query))
        torch.testing.assert_close(key @ score.key_weight().T, score.keys(key))


def test_where_it_attends_to_the_step_before_it_is_torchs_lstm_cell() -> None:
    torch.manual_seed(0)
    layer, cell = TapeLSTM(5, 7, Latest()), nn.LSTMCell(5, 7)
    with torch.no_grad():
        cell.weight_ih.copy_(layer.input_weight)
        cell.weight_hh.copy_(layer.state_weight)
        cell.bias_ih.copy_(layer.bias.normal_())
        cell.bias_hh.zero_()
    x = torch.randn(9, 3, 5)
    state, expected = (torch.zeros(3, 7), torch.zeros(3, 7)), []
    for own in x:
        state = cell(own, state)
        expected.append(state[0])
    torch.testing.assert_close(layer(x), torch.stack(expected), atol=1e-6, rtol=1e-6)


def test_what_comes_later_changes_nothing_before() -> None:
    torch.manual_seed(0)
    layer, x = TapeLSTM(4, 6), torch.randn(7, 2, 4, requires_grad=True)
    output = layer(x)
    (gradient,) = torch.autograd.grad(output[3].sum(), x)
    assert (gradient[4:] == 0).all()
    assert (gradient[:4] != 0).any(-1).all()


def test_steps_are_the_whole() -> None:
    torch.manual_seed(0)
    layer, x = TapeLSTM(4, 6), torch.randn(7, 2, 4)
    tapes = layer.begin(2)
    for own in x:
        _, tapes, attended = layer.step(own, tapes)
        if attended.call.keys:
            torch.testing.assert_close(attended.weights().sum(-1), torch.ones(2, 1))
    torch.testing.assert_close(tapes.states[..., :6].transpose(0, 1), layer(x), atol=1e-5, rtol=1e-5)
    swapped = tapes.select(torch.tensor([1, 0]))
    assert torch.equal(swapped.states[0], tapes.states[1])
    assert tapes.last(3).states.shape == (*tapes.last(3).keys.shape[:2], 12)


def test_each_step_says_where_it_looked() -> None:
    model = nn.Sequential(TapeLSTM(4, 6))
    with looking(model) as looks:
        model(torch.randn(5, 2, 4))
    assert [one.weights().shape for one in looks["0"]] == [(2, 1, keys) for keys in range(1, 5)]


def test_the_control_takes_the_steps_of_an_lstm() -> None:
    torch.manual_seed(0)
    layer, x = PlainLSTM(4, 6), torch.randn(7, 2, 4)
    tapes, outputs = layer.begin(2), []
    for own in x:
        output, tapes, seen = layer.step(own, tapes)
        outputs.append(output)
        assert seen is None
    torch.testing.assert_close(torch.stack(outputs), layer(x), atol=1e-6, rtol=1e-5)


def test_the_gradient_is_the_derivative() -> None:
    torch.manual_seed(0)
    layer = TapeLSTM(3, 4).double()
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given, *_: layer(given), (x, *layer.parameters()))
