"""Looking into any PyTorch model: every attention it computes, without a change to the model or to one bit of its output."""

from saccade.inside.recording import looking
from saccade.inside.scenes import look

__all__ = ["look", "looking"]
