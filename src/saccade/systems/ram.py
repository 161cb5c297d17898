"""Recurrent models of visual attention (Mnih, Heess, Graves and Kavukcuoglu 2014).

Reads: an image, through a small window that is moved from glimpse to glimpse.
Attends: a recurrent network chooses where the window goes next; the choice is sampled, and trained by REINFORCE.
Writes: a label, after the last glimpse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Count, Portion, Positive, Rate
from saccade.data.tensors import Batch, PictureInput
from saccade.errors import UsageError
from saccade.layers.linear import Linear
from saccade.layers.picture_grid import shifted
from saccade.layers.retina import Retina
from saccade.systems.system import BatchLook, Labeler, Output, PlacesLook, Recorded, cosine

READS, WRITES = "picture", "label"
DEFAULTS = {
    "model": {"num_scales": 2},
    "train": cosine(4000, 1e-3, every=400, patience=0) | {"batch_tokens": 128, "clip": 0.0},
}
MULTIPLIERS = (-4658895280553007687, -7723592293110705685)  # those of splitmix64 (Steele, Lea and Flood 2014), signed


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of the networks, the window and the policy; the defaults are the paper's for MNIST of 28 × 28 pixels."""

    num_glimpses: Positive = 6
    "Glimpses before the label is predicted."
    glimpse_size: Positive = 8
    "Height and width of the window in pixels."
    num_scales: Positive = 1
    "Windows around each place; each is twice as wide as the one before, at half its resolution."
    glimpse_hidden_size: Positive = 128
    "Units for what a glimpse shows, and as many for where it is."
    core: Literal["rnn", "lstm"] = "rnn"
    "The recurrent network: of rectified units, as for classification in the paper, or an LSTM, as for its game."
    hidden_size: Positive = 256
    "Units of the recurrent network."
    policy: Literal["learned", "random", "center"] = "learned"
    "Who chooses where to look: the network; chance; or nobody, the window stays in the center. The latter are controls."
    location_hidden_size: Count = 0
    "Units of a layer between the recurrent network and the next location; 0: none."
    location_std: Rate = 0.2
    "Standard deviation of the sampled location; the image reaches from −1 to 1."
    num_samples: Positive = 1
    "Paths sampled for each training example (Monte Carlo); their losses are averaged."
    reward: Literal["accuracy", "log_prob"] = "accuracy"
    "What a path earns: 1 for the right label, or the logarithm of that label's probability (Ba et al. 2014)."
    baseline: Literal["learned", "paths"] = "learned"
    "What a reward is compared with: what the network expected, or the mean of the other paths of the same picture."
    discount: Portion = 1.0
    "What the reward at the end loses at each glimpse before it."
    reinforce_weight: Rate = 1.0
    "Weight of the policy's loss beside the cross-entropy of the label."
    policy_reaches: Literal["location", "core"] = "location"
    "What the policy's loss trains: the location network alone, or the core and the glimpse network that it reads, too."
    max_shift: Count = 0
    "How many pixels a training picture is shifted at most, at random."


class Path(NamedTuple):
    """What a network did with B images: logits, where it looked, and what REINFORCE needs of each choice.

    Shapes: logits (B, labels), locations (B, T, 2) as (row, column) in [−1, 1], log_probs and baselines (B, T − 1)
    """

    logits: Float[Tensor, "B _"]
    log_probs: Float[Tensor, "B _"]
    baselines: Float[Tensor, "B _"]


def from_pixels(images: Float[Tensor, "B C H W"], step: int) -> Float[Tensor, "B 2"]:
    """Locations as if by chance, but always the same for a picture: a hash of its pixels."""
    places = torch.arange(1, images[0].numel() + 1, device=images.device)
    key = ((images.flatten(1) * 1000).round().long() * places).sum(1)
    mixed = key[:, None] * len(MULTIPLIERS) + torch.arange(2, device=images.device) + (step << 40)
    for multiplier in MULTIPLIERS:
        mixed = (mixed ^ (mixed >> 30)) * multiplier
    return ((mixed >> 40) & 0xFFFF) / 0x8000 - 1.0


def of_others(rewards: Float[Tensor, "B T"], copies: int) -> Float[Tensor, "B T"]:
    """For each path the mean of the other paths of its picture: an expectation that its own choices cannot change."""
    paths: Tensor = rewards.unflatten(0, (copies, -1))
    return ((paths.sum(0) - paths) / max(copies - 1, 1)).flatten(0, 1)


class GlimpseNetwork(nn.Module):
    """Joins what a glimpse shows and where it is.

    Shapes: window (B, scales · C, size, size), location (B, 2) -> (B, 2 · hidden)
    """

    def __init__(self, pixels: int, hidden: int) -> None:
        super().__init__()
        self.what, self.where = Linear(pixels, hidden), nn.Linear(2, hidden)
        self.what_map, self.where_map = Linear(hidden, 2 * hidden), Linear(hidden, 2 * hidden)

    def forward(self, window: Float[Tensor, "B C S S"], location: Float[Tensor, "B 2"]) -> Float[Tensor, "B _"]:
        what, where = F.relu(self.what(window.flatten(1))), F.relu(self.where(location))
        return F.relu(self.what_map(what) + self.where_map(where))


class RectifiedCore(nn.Module):
    """h' = max(0, W g + U h).

    Shapes: glimpse (B, width), state (B, hidden) -> (B, hidden)
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.glimpse_map, self.state_map = Linear(width, hidden), Linear(hidden, hidden)
        self.state_size = hidden

    def forward(self, glimpse: Float[Tensor, "B _"], state: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        return F.relu(self.glimpse_map(glimpse) + self.state_map(state))


class LstmCore(nn.Module):
    """An LSTM; its state is the output and then the cell.

    Shapes: glimpse (B, width), state (B, 2 · hidden) -> (B, 2 · hidden)
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.glimpse_map, self.state_map = Linear(width, 4 * hidden), Linear(hidden, 4 * hidden)
        self.state_size = 2 * hidden

    def forward(self, glimpse: Float[Tensor, "B _"], state: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        output, cell = state.chunk(2, -1)
        opening, keeping, showing, new = (self.glimpse_map(glimpse) + self.state_map(output)).chunk(4, -1)
        cell = keeping.sigmoid() * cell + opening.sigmoid() * new.tanh()
        return torch.cat((showing.sigmoid() * cell.tanh(), cell), -1)


class Model(Labeler):
    """Glimpse network, recurrent core, and three small heads: the next location, the expected reward, the label."""

    def __init__(self, config: Config, channels: int, height: int, width: int, labels: int) -> None:
        super().__init__()
        if config.num_glimpses < 2:
            raise UsageError("num_glimpses: expected at least 2, the first at the center, got 1")
        if config.glimpse_size > min(height, width):
            raise UsageError(f"glimpse_size: expected at most {min(height, width)} pixels, got {config.glimpse_size}")
        if (config.policy, config.baseline) == ("learned", "paths") and config.num_samples < 2:
            raise UsageError("baseline=paths: expected num_samples of at least 2, got 1")
        self.config = config
        hidden, inner, between = config.hidden_size, config.glimpse_hidden_size, config.location_hidden_size
        self.retina = Retina(config.glimpse_size, config.num_scales)
        self.glimpse = GlimpseNetwork(config.num_scales * channels * config.glimpse_size**2, inner)
        self.core = (LstmCore if config.core == "lstm" else RectifiedCore)(2 * inner, hidden)
        if config.policy == "learned":
            layers = [Linear(hidden, between), nn.ReLU()] if between else []
            self.location = nn.Sequential(*layers, Linear(between or hidden, 2))
            if config.baseline == "learned":
                self.baseline = nn.Linear(hidden, 1)
        self.label = Linear(hidden, labels)

    def forward(self, batch: Batch) -> Output:
        """Cross-entropy for the label, REINFORCE for the locations, and the baseline's error (section 3.2)."""
        if batch.target.agreement:
            raise UsageError("writer.agreement: ram samples its glimpses, and two passes never agree; leave it at 0")
        copies = self.config.num_samples if self.training else 1
        labels = batch.target.labels.repeat(copies)
        pixels = batch.input.pixels
        if self.training and self.config.max_shift:
            pixels = shifted(pixels, self.config.max_shift)
        path = self.look_around(pixels, copies)
        accuracy = (path.logits.argmax(-1) == labels).float()
        smoothing, weights = self.smoothing(batch.target), self.class_weights(batch.target)
        cross_entropy = F.cross_entropy(path.logits, labels, weights, label_smoothing=smoothing, reduction="sum")
        loss = cross_entropy + self.policy_loss(path, self.reward(path.logits, labels), copies)
        metrics = {"cross_entropy": cross_entropy.detach() / copies, "accuracy": accuracy.sum() / copies}
        return Output(loss / copies, len(batch.target.labels), metrics)

    def reward(self, logits: Float[Tensor, "B labels"], labels: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """What each path earned by its label."""
        if self.config.reward == "accuracy":
            return (logits.argmax(-1) == labels).float()
        return logits.detach().log_softmax(-1).gather(-1, labels[:, None]).squeeze(-1)

    def policy_loss(self, path: Path, reward: Float[Tensor, " B"], copies: int = 1) -> Float[Tensor, ""]:
        """REINFORCE, whose gradient is that of the expected reward, and the squared error of a learned baseline."""
        left = torch.arange(path.log_probs.shape[1], device=reward.device).flip(0)  # glimpses between the next and the last
        rewards = reward[:, None] * self.config.discount**left
        learned = self.config.baseline == "learned"
        advantage = rewards - (path.baselines if learned else of_others(rewards, copies))
        error = advantage.square().sum() if learned else 0.0
        return error - self.config.reinforce_weight * (path.log_probs * advantage.detach()).sum()

    def look_around(self, images: Float[Tensor, "B C H W"], copies: int = 1) -> Path:
        """All glimpses, along so many paths for each image, which share the first: it is at the center."""
        images = images.contiguous()  # once for all glimpses
        samples = torch.arange(len(images), device=images.device)
        location = images.new_zeros(len(images), 2)
        state = images.new_zeros(len(images), self.core.state_size)
        states: list[Tensor] = []
        log_probs = [images.new_zeros(copies * len(images), 0)]
        for step in range(self.config.num_glimpses):
            if step:
                location, log_prob = self.next_location(images, samples, states[-1], step)
                log_probs.append(log_prob)
            state = self.core(self.glimpse(self.retina(images, samples, location), location), state)
            if not step and copies > 1:
                samples, state = samples.repeat(copies), state.repeat(copies, 1)
            states.append(state[:, : self.config.hidden_size])
        return Path(self.label(states[-1]), torch.cat(log_probs, 1), self.expected(states[:-1]))

    def expected(self, states: list[Float[Tensor, "B D"]]) -> Float[Tensor, "B _"]:
        """The reward that each state promises; nothing where nobody learns it."""
        if self.config.policy != "learned" or self.config.baseline != "learned":
            return states[0].new_zeros(len(states[0]), 0)
        promised: Tensor = self.baseline(torch.stack(states, 1).detach())
        return promised.squeeze(-1)

    def next_location(
        self, images: Tensor, samples: Tensor, state: Float[Tensor, "B D"], step: int
    ) -> tuple[Float[Tensor, "B 2"], Float[Tensor, "B _"]]:
        """A place of the image and the logarithm of its density, up to a constant. No gradient goes through the place."""
        policy, shape = self.config.policy, (len(state), 2)
        if policy == "center":
            return state.new_zeros(shape), state.new_zeros(len(state), 0)
        if policy == "random":  # drawn on the CPU in training, here and below, so that every device draws alike
            drawn = (torch.rand(shape) * 2 - 1).to(state) if self.training else from_pixels(images, step)
            return drawn, state.new_zeros(len(state), 0)
        std = self.config.location_std
        # Where the policy's gradient is noisy, it would spoil what the label needs.
        mean = torch.tanh(self.location(state if self.config.policy_reaches == "core" else state.detach()))
        location = mean.detach()
        if self.training:
            location = location + std * torch.randn(shape, dtype=mean.dtype).to(mean.device)
        log_prob = -((location - mean) / std).square().sum(-1, keepdim=True) / 2
        return location.clamp(-1, 1), log_prob

    def logits(self, input: PictureInput) -> Float[Tensor, "B labels"]:
        """The scores of all labels, after the last glimpse."""
        return self.look_around(input.pixels).logits

    def looks(self, input: PictureInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """The window of each glimpse in pixels, of all its scales."""
        boxes = torch.stack([glimpse.boxes() for glimpse in recorded["retina"]], 1)
        return [PlacesLook("glimpses", "glimpses", "input", boxes.squeeze(2))]
