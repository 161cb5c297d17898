"""What reads one thing of a set or a bag by itself: a row of features, or a picture."""

import torch
from torch import Tensor, nn

CONVOLUTIONS, KERNEL = (20, 50), 5  # of LeNet5, as Ilse et al. (2018) have it


class Channels(nn.Module):
    """Pictures (N, height, width) or (N, height, width, 3) as convolutions want them, channels first."""

    def forward(self, pictures: Tensor) -> Tensor:
        return pictures[:, None] if pictures.dim() == 3 else pictures.movedim(-1, 1)


def perceptron(features: int, widths: tuple[int, ...], dropout: float) -> nn.Sequential:
    """Linear layers with ReLU and dropout."""
    sizes = zip((features, *widths), widths, strict=False)
    return nn.Sequential(*(part for a, b in sizes for part in (nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout))))


def lenet(shape: tuple[int, ...], width: int, dropout: float = 0.0) -> nn.Sequential:
    """Two convolutions, each followed by ReLU and a pool of 2 × 2, and a linear layer with dropout (LeCun et al. 1998)."""
    first, second = CONVOLUTIONS
    channels = shape[2] if len(shape) == 3 else 1
    layers = [Channels(), nn.Conv2d(channels, first, KERNEL), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(first, second, KERNEL), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    with torch.no_grad():
        flat = nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[1]
    return nn.Sequential(*layers, nn.Linear(flat, width), nn.ReLU(), nn.Dropout(dropout))
