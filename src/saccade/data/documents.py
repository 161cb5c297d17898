"""Documents: texts cut into sentences, and batches whose rows are sentences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int32]

# A sentence ends with its marks and the quotes and brackets that close behind them, before a space; or with its line.
END = re.compile(r"""(?:[.!?…]+|(?<=\s)[.!?…])["'”’»)\]]*(?=\s)|\s*[\r\n]+""")
# After these a dot is no end, nor after a single letter: J. R. Hartley.
SHORT = re.compile(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|sr|jr|etc|no|e\.g|i\.e|[A-Za-z])\.$", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the space around them; what has no letter or digit belongs to the one before."""
    found, start = [], 0
    for match in END.finditer(text):
        if "\n" not in match[0] and "\r" not in match[0] and SHORT.search(text[max(start, match.end() - 8) : match.end()]):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    joined: list[str] = []
    for sentence in filter(None, found):
        if joined and not any(letter.isalnum() for letter in sentence):
            joined[-1] = f"{joined[-1]} {sentence}"
        else:
            joined.append(sentence)
    return joined


@dataclass(frozen=True)
class LabeledDocuments:
    """Documents, their sentences one below the other, padded with 0; `counts` says how many are whose; their labels.

    Shapes: source (R, K), lengths (R), counts (B) with R their sum, label (B)
    """

    source: Int[Tensor, "R K"]
    lengths: Int[Tensor, " R"]
    counts: Int[Tensor, " B"]
    label: Int[Tensor, " B"]

    @property
    def tokens(self) -> int:
        """How many labels there are to write."""
        return len(self.label)


def document_batch(documents: Sequence[tuple[Ids, Ids]], labels: Tensor) -> LabeledDocuments:
    """One batch of these documents: of each the ids of all its words, and how many of them each sentence has."""
    sizes = np.concatenate([own for _, own in documents]).astype(np.int64)
    rectangle = np.zeros((len(sizes), max(int(sizes.max(initial=0)), 1)), dtype=np.int64)
    rectangle[np.arange(rectangle.shape[1]) < sizes[:, None]] = np.concatenate([ids for ids, _ in documents])
    counts = torch.tensor([len(own) for _, own in documents], dtype=torch.int64)
    return LabeledDocuments(torch.from_numpy(rectangle), torch.from_numpy(sizes), counts, labels)
