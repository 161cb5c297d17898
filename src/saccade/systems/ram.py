"""Recurrent models of visual attention (Mnih, Heess, Graves and Kavukcuoglu 2014).

Reads: an image, through a small window that is moved from glimpse to glimpse.
Attends: a recurrent network chooses where the window goes next; the choice is sampled, and trained by REINFORCE.
Writes: a label, after the last glimpse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import looks as recording
from saccade.config import Positive, Rate
from saccade.data.tensors import Batch, PictureInput
from saccade.errors import UsageError
from saccade.systems.system import BatchLook, Labeler, Output, PlacesLook, Recorded, cosine

READS, WRITES = "picture", "label"
DEFAULTS = {
    "model": {"num_scales": 2},
    "train": cosine(4000, 1e-3, every=400, patience=0) | {"batch_tokens": 128, "clip": 0.0},
}


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
    hidden_size: Positive = 256
    "Units of the recurrent network."
    location_std: Rate = 0.2
    "Standard deviation of the sampled location; the image reaches from −1 to 1."
    num_samples: Positive = 1
    "Paths sampled for each training example (Monte Carlo); their losses are averaged."
    reinforce_weight: Rate = 1.0
    "Weight of the policy's loss beside the cross-entropy of the label."


class Path(NamedTuple):
    """What a network did with B images: logits, where it looked, and what REINFORCE needs of each choice.

    Shapes: logits (B, labels), locations (B, T, 2) as (row, column) in [−1, 1], log_probs and baselines (B, T − 1)
    """

    logits: Float[Tensor, "B _"]
    locations: Float[Tensor, "B T 2"]
    log_probs: Float[Tensor, "B _"]
    baselines: Float[Tensor, "B _"]


def corner(locations: Float[Tensor, "... 2"], height: int, width: int, size: int) -> Int[Tensor, "... 2"]:
    """The upper left pixel of a window of this size around each location; (−1, −1) is the image's upper left corner."""
    extent = torch.stack((torch.full_like(locations[..., 0], height), torch.full_like(locations[..., 1], width)), -1)
    return ((locations + 1) / 2 * extent).round().long() - size // 2


def glimpses(images: Float[Tensor, "B C H W"], locations: Float[Tensor, "B 2"], size: int, scales: int) -> Tensor:
    """Windows of `size`, 2 · `size`, … pixels around each location, all scaled to `size`; zero outside the image.

    Shapes: -> (B, scales · C, size, size)
    """
    B, _, H, W = images.shape
    windows = []
    for scale in range(scales):
        reach = size * 2**scale
        top, left = corner(locations, H, W, reach).unbind(-1)
        steps = torch.arange(reach, device=images.device)
        rows, columns = top[:, None] + steps, left[:, None] + steps
        inside = ((rows >= 0) & (rows < H))[:, :, None] & ((columns >= 0) & (columns < W))[:, None]
        samples = torch.arange(B, device=images.device)[:, None, None]
        pixels = images.permute(0, 2, 3, 1)[samples, rows.clamp(0, H - 1)[:, :, None], columns.clamp(0, W - 1)[:, None]]
        window = pixels.where(inside[..., None], 0).permute(0, 3, 1, 2)
        windows.append(F.avg_pool2d(window, 2**scale) if scale else window)
    return torch.cat(windows, 1)


@dataclass(frozen=True)
class Glimpse:
    """The windows of one glimpse.

    Shapes: boxes (B, scales, 4), row, column, height and width in pixels
    """

    boxes: Tensor


class Retina(nn.Module):
    """What is seen around a location, and a record of it.

    Shapes: images (B, C, H, W), locations (B, 2) -> (B, scales · C, size, size)
    """

    def __init__(self, size: int, scales: int) -> None:
        super().__init__()
        self.size, self.scales = size, scales

    def forward(self, images: Float[Tensor, "B C H W"], locations: Float[Tensor, "B 2"]) -> Float[Tensor, "B _ _ _"]:
        recording.record(Glimpse(self.boxes(locations, images.shape[2], images.shape[3])))
        return glimpses(images, locations, self.size, self.scales)

    def boxes(self, locations: Float[Tensor, "B 2"], height: int, width: int) -> Int[Tensor, "B _ 4"]:
        """The windows of all scales."""
        windows = []
        for scale in range(self.scales):
            place = corner(locations, height, width, self.size * 2**scale)
            windows.append(torch.cat((place, torch.full_like(place, self.size * 2**scale)), -1))
        return torch.stack(windows, 1)


class GlimpseNetwork(nn.Module):
    """Joins what a glimpse shows and where it is.

    Shapes: window (B, scales · C, size, size), location (B, 2) -> (B, 2 · hidden)
    """

    def __init__(self, pixels: int, hidden: int) -> None:
        super().__init__()
        self.what, self.where = nn.Linear(pixels, hidden), nn.Linear(2, hidden)
        self.what_map, self.where_map = nn.Linear(hidden, 2 * hidden), nn.Linear(hidden, 2 * hidden)

    def forward(self, window: Float[Tensor, "B C S S"], location: Float[Tensor, "B 2"]) -> Float[Tensor, "B _"]:
        what, where = F.relu(self.what(window.flatten(1))), F.relu(self.where(location))
        return F.relu(self.what_map(what) + self.where_map(where))


class Model(Labeler):
    """Glimpse network, recurrent core, and three small heads: the next location, the expected reward, the label."""

    def __init__(self, config: Config, channels: int, height: int, width: int, labels: int) -> None:
        super().__init__()
        if config.num_glimpses < 2:
            raise UsageError("num_glimpses: expected at least 2, the first at the center, got 1")
        if config.glimpse_size > min(height, width):
            raise UsageError(f"glimpse_size: expected at most {min(height, width)} pixels, got {config.glimpse_size}")
        self.config = config
        hidden, inner = config.hidden_size, config.glimpse_hidden_size
        self.retina = Retina(config.glimpse_size, config.num_scales)
        self.glimpse = GlimpseNetwork(config.num_scales * channels * config.glimpse_size**2, inner)
        self.glimpse_map, self.state_map = nn.Linear(2 * inner, hidden), nn.Linear(hidden, hidden)
        self.location = nn.Linear(hidden, 2)
        self.baseline = nn.Linear(hidden, 1)
        self.label = nn.Linear(hidden, labels)

    def forward(self, batch: Batch) -> Output:
        """Cross-entropy for the label, REINFORCE for the locations, and the baseline's error (section 3.2)."""
        if batch.target.agreement:
            raise UsageError("writer.agreement: ram samples its glimpses, and two passes never agree; leave it at 0")
        copies = self.config.num_samples if self.training else 1
        labels = batch.target.labels.repeat(copies)
        path = self.look_around(batch.input.pixels.repeat(copies, 1, 1, 1))
        reward = (path.logits.argmax(-1) == labels).float()
        advantage = reward[:, None] - path.baselines
        smoothing, weights = self.smoothing(batch.target), self.class_weights(batch.target)
        cross_entropy = F.cross_entropy(path.logits, labels, weights, label_smoothing=smoothing, reduction="sum")
        policy = -(path.log_probs * advantage.detach()).sum()
        loss = cross_entropy + self.config.reinforce_weight * policy + advantage.square().sum()
        metrics = {"cross_entropy": cross_entropy.detach() / copies, "accuracy": reward.sum() / copies}
        return Output(loss / copies, len(batch.target.labels), metrics)

    def look_around(self, images: Float[Tensor, "B C H W"]) -> Path:
        """All glimpses. Locations are sampled in training, else the most likely is taken; the first is the center."""
        config = self.config
        location = images.new_zeros(len(images), 2)
        state = images.new_zeros(len(images), config.hidden_size)
        locations, log_probs, baselines = [location], [], []
        for step in range(config.num_glimpses):
            state = F.relu(self.glimpse_map(self.glimpse(self.retina(images, location), location)) + self.state_map(state))
            if step + 1 < config.num_glimpses:
                baselines.append(self.baseline(state.detach()).squeeze(-1))
                location, log_prob = self.next_location(state)
                locations.append(location)
                log_probs.append(log_prob)
        return Path(self.label(state), torch.stack(locations, 1), torch.stack(log_probs, 1), torch.stack(baselines, 1))

    def next_location(self, state: Float[Tensor, "B D"]) -> tuple[Float[Tensor, "B 2"], Float[Tensor, " B"]]:
        """A place of the image and the logarithm of its density, up to a constant. No gradient goes through the place."""
        std = self.config.location_std
        mean = torch.tanh(self.location(state.detach()))  # the policy's noisy gradient would spoil what the label needs
        location = mean.detach()
        if self.training:
            location = location + std * torch.randn(mean.shape, dtype=mean.dtype).to(mean.device)  # alike on every device
        log_prob = -((location - mean) / std).square().sum(-1) / 2
        return location.clamp(-1, 1), log_prob

    def logits(self, input: PictureInput) -> Float[Tensor, "B labels"]:
        """The scores of all labels, after the last glimpse."""
        return self.look_around(input.pixels).logits

    def looks(self, input: PictureInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """The window of each glimpse in pixels, of all its scales."""
        boxes = torch.stack([glimpse.boxes for glimpse in recorded["retina"]], 1)
        return [PlacesLook("glimpses", "glimpses", "input", boxes.squeeze(2))]
