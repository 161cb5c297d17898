"""The recurrent attention model: REINFORCE is unbiased, its baseline pays, its paths share what they have in common."""

import math
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from saccade.data.tensors import Batch, LabelTarget, PictureInput
from saccade.errors import UsageError
from saccade.systems.ram import Config, LstmCore, Model, Path, RectifiedCore, from_pixels, of_others

from .samples import close, gradients

SMALL = {"num_glimpses": 4, "glimpse_size": 4, "glimpse_hidden_size": 6, "hidden_size": 8}
PULLS = 40_000


def network(**given: Any) -> Model:
    torch.manual_seed(3)
    made = Model(Config(**{**SMALL, **given}), channels=1, height=12, width=12, labels=3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(2)
    return made


def batch(count: int = 5) -> Batch:
    pixels = torch.randn(count, 1, 12, 12, generator=torch.Generator().manual_seed(1))
    return Batch(PictureInput(pixels), LabelTarget(torch.arange(count) % 3))


class Bandit:
    """Two arms, the left and the right half of a picture; only the right one pays. The policy's mean is its bias alone."""

    def __init__(self, mean: float, **given: Any) -> None:
        self.model = cast(Any, network(hidden_size=1, location_std=0.5, **given).train())
        self.mean = mean
        with torch.no_grad():
            self.model.location[-1].weight.zero_()
            self.model.location[-1].bias.fill_(math.atanh(mean))
            if "baseline" not in given:
                self.model.baseline.weight.zero_()

    def pay(self) -> float:
        """The expected reward: how likely the right arm is."""
        return 0.5 * (1 + math.erf(self.mean / 0.5 / math.sqrt(2)))

    def exact(self) -> float:
        """Its derivative by the bias, through tanh."""
        density = math.exp(-((self.mean / 0.5) ** 2) / 2) / math.sqrt(2 * math.pi) / 0.5
        return density * (1 - self.mean**2)

    def pulled(self, seed: int = 0) -> tuple[Tensor, Tensor]:
        """The logarithms of the probabilities of many choices, and their rewards."""
        torch.manual_seed(seed)
        state = torch.zeros(PULLS, 1)
        location, log_probs = self.model.next_location(state, torch.arange(PULLS), state, 1)
        return log_probs, (location[:, 1] > 0).float()

    def each(self, baseline: float | Tensor) -> Tensor:
        """What each pull says of the gradient by the bias: its reward times (x − mean) / std², through tanh."""
        _, reward = self.pulled()
        torch.manual_seed(0)
        noise = torch.randn(PULLS, 2)[:, 1]
        return noise / 0.5 * (1 - self.mean**2) * (reward - baseline)


@pytest.mark.parametrize("copies", [2, 5])
def test_with_the_other_paths_as_a_baseline_reinforce_is_still_exact(copies: int) -> None:
    """All outcomes of several pulls of two arms, each as likely as it is; ∇ log p of an arm by its logit is arm − chance."""
    chance, pays = 0.3, torch.tensor([-1.6, -0.2])  # as the logarithm of a label's probability does
    arms = torch.cartesian_prod(*[torch.tensor([0, 1])] * copies)
    likely = torch.where(arms == 1, chance, 1 - chance).prod(1)
    rewards = pays[arms].t().reshape(-1, 1)  # path by path, all outcomes of each
    compared = (rewards - of_others(rewards, copies)).view(copies, -1)
    estimates = ((arms.t() - chance) * compared).mean(0)
    torch.testing.assert_close((likely * estimates).sum(), chance * (1 - chance) * (pays[1] - pays[0]))


@pytest.mark.parametrize("mean", [-0.4, 0.3])
def test_the_other_paths_of_a_bandit_keep_the_gradient_and_lower_its_variance(mean: float) -> None:
    bandit = Bandit(mean, baseline="paths", num_samples=4)
    log_probs, reward = bandit.pulled()
    path = Path(torch.zeros(PULLS, 3), log_probs, torch.zeros(PULLS, 0))
    bias = bandit.model.location[-1].bias
    (gradient,) = torch.autograd.grad(bandit.model.policy_loss(path, reward, 4) / PULLS, bias)
    each = bandit.each(of_others(reward[:, None], 4).squeeze(1))
    error = float(each.std()) / math.sqrt(PULLS)
    assert error < 0.02
    assert abs(-gradient[1].item() - bandit.exact()) < 4 * error
    assert each.var() < 0.8 * bandit.each(0.0).var()


def test_rewards_are_for_the_right_label() -> None:
    logits, labels = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]], requires_grad=True), torch.tensor([1, 2])
    assert network().reward(logits, labels).tolist() == [1.0, 0.0]
    found = network(reward="log_prob").reward(logits, labels)
    torch.testing.assert_close(found, logits.detach().softmax(-1)[[0, 1], labels].log())
    assert not found.requires_grad


@pytest.mark.parametrize("mean", [-0.4, 0.0, 0.3])
@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_reinforce_is_the_exact_gradient_on_a_two_armed_bandit(mean: float, baseline: float) -> None:
    bandit = Bandit(mean)
    log_probs, reward = bandit.pulled()
    path = Path(torch.zeros(PULLS, 3), log_probs, torch.full((PULLS, 1), baseline))
    bias = bandit.model.location[-1].bias
    (gradient,) = torch.autograd.grad(bandit.model.policy_loss(path, reward) / PULLS, bias)
    error = float(bandit.each(baseline).std()) / math.sqrt(PULLS)
    assert error < 0.02
    assert abs(-gradient[1].item() - bandit.exact()) < 4 * error
    assert abs(gradient[0].item()) < 4 * 2 / math.sqrt(PULLS)  # which row it was does not matter


def test_the_learned_baseline_lowers_its_variance() -> None:
    bandit = Bandit(0.3)
    optimizer = torch.optim.SGD([bandit.model.baseline.bias], lr=0.1)
    for seed in range(60):
        log_probs, reward = bandit.pulled(seed)
        expected = bandit.model.expected([torch.zeros(PULLS, 1)])
        loss = bandit.model.policy_loss(Path(torch.zeros(PULLS, 3), log_probs.detach(), expected), reward) / PULLS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learned = bandit.model.baseline.bias.item()
    assert learned == pytest.approx(bandit.pay(), abs=0.01)
    assert bandit.each(learned).var() < 0.5 * bandit.each(0.0).var()


def test_the_reward_is_discounted_by_the_glimpses_that_follow() -> None:
    made = network(discount=0.5)
    nothing = Path(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 3))
    assert made.policy_loss(nothing, torch.tensor([1.0, 0.0])).item() == pytest.approx(1 + 0.5**2 + 0.25**2)
    assert network().policy_loss(nothing, torch.tensor([1.0, 0.0])).item() == pytest.approx(3)


@pytest.mark.parametrize("core", ["rnn", "lstm"])
def test_several_paths_are_those_of_as_many_copies(core: str) -> None:
    several, single = (network(num_samples=samples, core=core).train() for samples in (3, 1))
    one = batch()
    copies = Batch(PictureInput(one.input.pixels.repeat(3, 1, 1, 1)), LabelTarget(one.target.labels.repeat(3)))
    losses = []
    for made, given, share in ((several, one, 1), (single, copies, 3)):
        torch.manual_seed(4)
        losses.append(made(given).loss / share)
    torch.testing.assert_close(*losses)
    close(gradients(several, losses[0]), gradients(single, losses[1]), 1e-5)


def test_the_label_does_not_teach_the_policy_nor_the_policy_the_core() -> None:
    made = network().train()
    torch.manual_seed(5)
    path = made.look_around(batch().input.pixels)
    found = gradients(made, path.logits.square().sum())
    assert all(not gradient.any() for name, gradient in found.items() if name.startswith(("location", "baseline")))
    found = gradients(made, made.policy_loss(path, torch.ones(5)))
    assert all(gradient.any() == name.startswith(("location", "baseline")) for name, gradient in found.items())


def test_the_policy_teaches_the_core_where_it_is_told_to() -> None:
    made = network(policy_reaches="core").train()
    torch.manual_seed(5)
    found = gradients(made, made.policy_loss(made.look_around(batch().input.pixels), torch.ones(5)))
    assert all(gradient.any() != name.startswith("label") for name, gradient in found.items())


def test_an_lstm_core_is_torchs() -> None:
    torch.manual_seed(6)
    core, theirs = LstmCore(5, 7), torch.nn.LSTMCell(5, 7)
    with torch.no_grad():
        for ours, weight, bias in (
            (core.glimpse_map, theirs.weight_ih, theirs.bias_ih),
            (core.state_map, theirs.weight_hh, theirs.bias_hh),
        ):
            # Torch's order of gates is input, forget, cell, output.
            order = torch.arange(28).view(4, 7)[[0, 1, 3, 2]].flatten()
            ours.weight.copy_(weight[order])
            ours.bias.copy_(bias[order])
    glimpse, state = torch.randn(3, 5), torch.randn(3, 14)
    torch.testing.assert_close(core(glimpse, state), torch.cat(theirs(glimpse, state.chunk(2, -1)), -1))


def test_a_rectified_core_is_the_papers() -> None:
    core, glimpse, state = RectifiedCore(5, 7), torch.randn(3, 5), torch.randn(3, 7)
    expected = glimpse @ core.glimpse_map.weight.t() + core.glimpse_map.bias + core.state_map.bias
    torch.testing.assert_close(core(glimpse, state), (expected + state @ core.state_map.weight.t()).clamp(min=0))


# The controls


def paths(made: Model, pixels: Tensor) -> Tensor:
    """The locations of all glimpses after the first, in evaluation, (T − 1, B, 2)."""
    seen: list[Tensor] = []
    handle = made.retina.register_forward_pre_hook(lambda module, given: seen.append(given[2]))
    made.eval().logits(PictureInput(pixels))
    handle.remove()
    return torch.stack(seen[1:])


def test_controls_have_no_policy() -> None:
    pixels = torch.randn(200, 1, 12, 12)
    for policy in ("random", "center"):
        made = network(policy=policy)
        assert not [name for name, _ in made.named_parameters() if name.startswith(("location", "baseline"))]
        assert made.train()(batch()).loss.isfinite()
    assert not paths(network(policy="center"), pixels).any()
    assert paths(network(), pixels).any()


def test_glimpses_by_chance_are_everywhere_and_the_pictures_own() -> None:
    pixels = torch.randn(2000, 1, 12, 12)
    made = network(policy="random")
    found = paths(made, pixels)
    assert torch.equal(paths(made, pixels[7:9]), found[:, 7:9])
    numbers = found.transpose(0, 1).reshape(2000, -1)  # of each picture three rows and columns
    assert numbers.mean(0).abs().max() < 0.06
    assert (numbers.std(0) - 1 / math.sqrt(3)).abs().max() < 0.02  # uniform from −1 to 1
    assert (numbers.t().corrcoef() - torch.eye(6)).abs().max() < 0.1
    other = pixels.clone()
    other[0, 0, 3, 3] += 0.01
    assert (from_pixels(other[:1], 1) - from_pixels(pixels[:1], 1)).abs().max() > 0.01


def test_chance_is_drawn_anew_in_training() -> None:
    made = network(policy="random").train()
    torch.manual_seed(1)
    losses = [made(batch()).loss.item() for _ in range(2)]
    assert losses[0] != losses[1]


def test_pictures_are_shifted_in_training_only() -> None:
    plain, shifting = network(policy="center"), network(policy="center", max_shift=3)
    assert shifting.eval()(batch()).loss == plain.eval()(batch()).loss
    torch.manual_seed(1)
    losses = {shifting.train()(batch()).loss.item() for _ in range(2)} | {plain.train()(batch()).loss.item()}
    assert len(losses) == 3


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="baseline=paths: expected num_samples of at least 2, got 1"):
        network(baseline="paths")
    with pytest.raises(UsageError, match="num_glimpses: expected at least 2"):
        network(num_glimpses=1)
    with pytest.raises(UsageError, match="glimpse_size: expected at most 12 pixels, got 13"):
        network(glimpse_size=13)
