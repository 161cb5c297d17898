"""How near captions are to those that people wrote: BLEU-1 to 4 (Papineni et al. 2002) by sacreBLEU, ROUGE-L (Lin 2004),
CIDEr-D (Vedantam et al. 2015), and the part of METEOR (Banerjee and Lavie 2005) that matches equal words.

Texts are compared in small letters without punctuation, word by word. METEOR's stems, synonyms and paraphrases are not
here, so its figures are lower than those of the published program.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.evaluation.text_scores import streams

WORD = re.compile(r"\w+(?:['’]\w+)*")
ORDERS = (1, 2, 3, 4)  # lengths of n-grams
SIGMA = 6.0  # of CIDEr-D's penalty for another length
BETA = 1.2  # how much more recall counts than precision in ROUGE-L, as for COCO
WIDEST = 2000  # alignments that are followed; there are more only of texts that repeat a word over and over
BLEUS = {f"bleu_{order}": order for order in ORDERS}
NAMES = (*BLEUS, "rouge_l", "cider", "meteor_exact")

Words = Sequence[str]
References = Sequence[Sequence[str]]  # of each caption those that count as right


def caption_scores(captions: Sequence[str], references: References) -> dict[str, float]:
    """All of them, from 0 to 100; CIDEr-D from 0 to 1,000, which published tables show so, or divided by 100."""
    joined = streams(plain(references))
    bleu = {name: float(bleu_metric(name).corpus_score(*plain([captions]), joined).score) for name in BLEUS}
    return {**bleu, **{name: float(np.mean(values)) for name, values in each_caption(captions, references).items()}}


def each_caption(captions: Sequence[str], references: References) -> dict[str, NDArray[np.float64]]:
    """The scores whose mean is that of all captions, of each one."""
    written = [words(text) for text in captions]
    known = [[words(text) for text in own] for own in references]
    rouge = [rouge_l(one, own) for one, own in zip(written, known, strict=True)]
    meteor = [meteor_exact(one, own) for one, own in zip(written, known, strict=True)]
    scores = {"rouge_l": rouge, "cider": cider_d(written, known), "meteor_exact": meteor}
    return {name: 100 * np.array(values, np.float64) for name, values in scores.items()}


def plain(texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Texts as they are compared."""
    return [[" ".join(words(one)) for one in own] for own in texts]


def words(text: str) -> list[str]:
    """The words of a caption in small letters."""
    return WORD.findall(text.lower())


def signatures() -> dict[str, str]:
    """How scores that can be computed in more than one way are computed."""
    spelling = "lower case, words without punctuation"
    bleu_metric("bleu_4").corpus_score(["a"], [["a"]])  # a signature is known only then
    return {
        "bleu_4": f"{spelling}, all references, {str(bleu_metric('bleu_4').get_signature()).partition('|')[2]}",
        "cider": f"{spelling}, sigma 6, n-grams up to 4, without stems",
        "meteor_exact": f"{spelling}, equal words alone, mean of captions",
    }


@cache
def bleu_metric(name: str) -> Any:
    """BLEU-1 to 4 as sacreBLEU's object, for texts that are `plain`."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="none", force=True, max_ngram_order=BLEUS[name], smooth_method="none")


def rouge_l(caption: Words, references: Sequence[Words]) -> float:
    """F of the longest common subsequence, with the best precision and the best recall of any reference."""
    common = [_longest_common(caption, one) for one in references]
    precision = max((length / len(caption) for length in common if caption), default=0.0)
    recall = max((length / len(one) for length, one in zip(common, references, strict=True) if one), default=0.0)
    if not precision or not recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def _longest_common(one: Words, other: Words) -> int:
    """The length of the longest subsequence of both."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = row[:]
        for place, known in enumerate(other, 1):
            row[place] = before[place - 1] + 1 if word == known else max(before[place], row[place - 1])
    return row[-1]


def cider_d(captions: Sequence[Words], references: Sequence[Sequence[Words]]) -> list[float]:
    """Of each caption the mean similarity to its references, from 0 to 10: n-grams count by how rare they are among the
    references of all pictures, none more often than in the reference, and another length costs."""
    rare = _rarities(references)
    return [
        10 * float(np.mean([_alike(one, known, rare) for known in own]))
        for one, own in zip(captions, references, strict=True)
    ]


def _rarities(references: Sequence[Sequence[Words]]) -> Mapping[tuple[str, ...], float]:
    """Of each n-gram the logarithm of the pictures for each one that has it in a reference."""
    having = Counter(gram for own in references for gram in {gram for one in own for gram in _grams(one)})
    return {gram: math.log(len(references) / count) for gram, count in having.items()} | {(): math.log(len(references))}


def _grams(text: Words) -> Iterable[tuple[str, ...]]:
    """All n-grams."""
    return (tuple(text[i : i + n]) for n in ORDERS for i in range(len(text) - n + 1))


def _alike(one: Words, known: Words, rare: Mapping[tuple[str, ...], float]) -> float:
    """The mean over n of the clipped cosine, lowered by the difference of lengths."""
    vectors = [_vectors(text, rare) for text in (one, known)]
    total = 0.0
    for n in ORDERS:
        own, other = (vector[n] for vector in vectors)
        norms = math.sqrt(sum(x * x for x in own.values())) * math.sqrt(sum(x * x for x in other.values()))
        product = sum(min(value, other[gram]) * other[gram] for gram, value in own.items() if gram in other)
        total += product / norms if norms else 0.0
    return total / len(ORDERS) * math.exp(-((len(one) - len(known)) ** 2) / (2 * SIGMA**2))


def _vectors(text: Words, rare: Mapping[tuple[str, ...], float]) -> dict[int, dict[tuple[str, ...], float]]:
    """For each n the n-grams of a text, how often they come times how rare they are."""
    vectors: dict[int, dict[tuple[str, ...], float]] = {n: {} for n in ORDERS}
    for gram, count in Counter(_grams(text)).items():
        vectors[len(gram)][gram] = count * rare.get(gram, rare[()])
    return vectors


def meteor_exact(caption: Words, references: Sequence[Words]) -> float:
    """The best of any reference: 10 P R / (R + 9 P) of equal words, lowered by ½ (chunks / matches)³."""
    return max((_meteor(caption, one) for one in references), default=0.0)


def _meteor(caption: Words, reference: Words) -> float:
    matches = sum((Counter(caption) & Counter(reference)).values())
    if not matches:
        return 0.0
    precision, recall = matches / len(caption), matches / len(reference)
    mean = 10 * precision * recall / (recall + 9 * precision)
    return mean * (1 - 0.5 * (_fewest_chunks(caption, reference) / matches) ** 3)


def _fewest_chunks(caption: Words, reference: Words) -> int:
    """In how few runs of neighbors in both texts all words can be matched that are in both."""
    spare = Counter(caption) - Counter(reference)  # words of the caption that stay without a partner
    places: dict[str, list[int]] = {}
    for place, word in enumerate(reference):
        places.setdefault(word, []).append(place)
    # Each state: how far the last match was in the reference, which places are taken, and which words were left out.
    states: dict[tuple[int, frozenset[int], frozenset[tuple[str, int]]], int] = {(-2, frozenset(), frozenset()): 0}
    for word in caption:
        following: dict[Any, int] = {}
        for (last, taken, left), chunks in states.items():
            skipped = dict(left).get(word, 0)
            options = [
                (place, taken | {place}, left, chunks + (place != last + 1))
                for place in places.get(word, ())
                if place not in taken
            ]
            if skipped < spare[word]:
                options.append((-2, taken, frozenset({**dict(left), word: skipped + 1}.items()), chunks))
            for *state, cost in options:
                key = tuple(state)
                following[key] = min(cost, following.get(key, cost))
        states = dict(sorted(following.items(), key=lambda item: item[1])[:WIDEST])
    return min(states.values())
