"""A document read word by word, sentence by sentence (Yang et al. 2016): whose the words are, and what sentences weigh."""

import numpy as np

from saccade.view.picture import Picture, one_head
from saccade.view.running import Sentence
from saccade.view.scales import Integers
from saccade.view.trace import Look, Scene


def owners(look: Look) -> Integers | None:
    """The sentence (query) of each word (key); nothing unless each sentence looked at words of its own, in their order.

    A word with no weight at all belongs where the word before it does, at the beginning where the next one does.
    Shapes: (keys)
    """
    seen = (look.weights != 0).any(axis=0)
    if (seen.sum(axis=0) > 1).any() or not seen.any():
        return None
    known = np.flatnonzero(seen.any(axis=0))
    sentences = seen.argmax(axis=0)[known]
    if (np.diff(sentences) < 0).any():
        return None
    before = np.searchsorted(known, np.arange(look.weights.shape[2]), side="right") - 1
    return np.asarray(sentences[np.maximum(before, 0)], dtype=np.int64)


def weighed(scene: Scene, look: Look) -> Look | None:
    """The look of one query at as many sentences as this look is from."""
    shape = 1, look.weights.shape[1]
    at_sentences = (other for other in scene.looks if scene.sides[other.keys].kind == "sentences")
    return next((other for other in at_sentences if other.weights.shape[1:] == shape), None)


def sentences(shown: Picture) -> list[Sentence]:
    """The document's sentences, each with its words and weights, and its own weight if there is one."""
    whose, above = owners(shown.look), weighed(shown.scene, shown.look)
    assert whose is not None  # it was asked before this drawing was chosen
    own: list[float | None] = [None] * len(shown.weights)
    if above is not None:
        same = len(above.weights) == len(shown.look.weights)
        own = one_head(above, shown.head if same else None)[0][0].tolist()
    found = []
    for number, row in enumerate(shown.weights):
        places = np.flatnonzero(whose == number).tolist()
        found.append(Sentence([shown.names[place] for place in places], row[places].tolist(), own[number]))
    return found
