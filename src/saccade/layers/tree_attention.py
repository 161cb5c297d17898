"""Attention to the likely heads of each word in a latent dependency tree (Kim et al. 2017, section 3.2)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import attend, lengths
from saccade.attention.live import live
from saccade.attention.trees import tree_marginals


class TreeAttention(nn.Module):
    """For each word the mean of its possible heads, weighted by how likely each is; where it is the root, nothing.

    Shapes: words (B, K, D), lengths (B) -> (B, K, D)
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.word, self.head = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.root = nn.Linear(width, 1, bias=False)  # there is one root: what all scores share changes nothing

    def forward(self, words: Float[Tensor, "B K D"], sizes: Int[Tensor, " B"]) -> Float[Tensor, "B K D"]:
        heads = self.heads(words, sizes)
        places = torch.eye(words.shape[1], dtype=words.dtype, device=words.device)
        # The marginals are the weights already: their product with a one for each place, as it is.
        between = heads * (1 - places)
        context: Tensor = attend(between, places, words, score="dot", mask=lengths(sizes), normalize="none").context
        return context

    def heads(self, words: Float[Tensor, "B K D"], sizes: Int[Tensor, " B"]) -> Float[Tensor, "B K K"]:
        """How likely each word (columns) is the head of each (rows); on the diagonal, that it is the root."""
        query, key = self.word(words), self.head(words)
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        own = torch.eye(words.shape[1], dtype=torch.bool, device=words.device)
        return tree_marginals(torch.where(own, self.root(words), scores), live(sizes, words.shape[1]))
