"""Vectors of words: each its own and, if asked for, those of its letters, which unknown words have, too."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.tokenizers import PAD, UNKNOWN
from saccade.layers.dropout import WordDropout


class WordVectors(nn.Embedding):
    """A word's own vector and the mean of the vectors of its runs of letters (Bojanowski et al. 2017).

    Shapes: words (B, K), spelled (B, K, P), filled up with 0 -> (B, K, D)
    """

    def __init__(
        self, size: int, width: int, *, runs: int, word_dropout: float, letter_dropout: float, std: float = 0.1
    ) -> None:
        super().__init__(size, width, padding_idx=PAD)
        nn.init.normal_(self.weight, std=std)
        self.letters = nn.Embedding(1 + runs, width, padding_idx=PAD) if runs else None
        if self.letters is not None:
            nn.init.normal_(self.letters.weight, std=std)
        self.heard = WordDropout(word_dropout, UNKNOWN)
        self.read = WordDropout(letter_dropout, PAD)

    def forward(self, words: Int[Tensor, "B K"], spelled: Int[Tensor, "B K P"] | None = None) -> Float[Tensor, "B K D"]:
        own: Tensor = super().forward(self.heard(words))
        if self.letters is None or spelled is None:
            return own
        runs = self.read(spelled.flatten(0, 1))
        letters = F.embedding_bag(runs, self.letters.weight, mode="mean", padding_idx=PAD)
        return own + letters.view_as(own)
