"""Layers made of the operator."""

from saccade.layers.cache import KeyValueCache, Past
from saccade.layers.multihead import MultiHeadAttention

__all__ = ["KeyValueCache", "MultiHeadAttention", "Past"]
