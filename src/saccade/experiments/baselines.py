"""Baselines: what a few lines without attention come to, on the same data, as rows of a table.

Nothing here is tuned but the strength of regularization, which is chosen on the validation data.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.examples import Bag, Example, Picture, Splits, in_order, targets_of
from saccade.errors import DataError, MissingExtra, UsageError
from saccade.evaluation.labels import LABEL_SCORES, label_scores
from saccade.evaluation.numbers import number_scores
from saccade.evaluation.ranks import choice_scores, rank_of, rank_scores
from saccade.evaluation.text_scores import perplexity, signatures, translation_scores
from saccade.task import Task
from saccade.training.settings import Settings
from saccade.writers import answer, number
from saccade.writers.word import WITHIN

Scores = dict[str, float]
STRENGTHS = (0.1, 1.0, 3.0, 10.0, 30.0)  # C of logistic regression
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # of ridge regression, and what is added to counts of words
TEXT_SCORES = ("exact_match", "bleu", "chrf")
ORDER = 5  # tokens of the longest n-gram
DISCOUNT = 0.75


def most_frequent(settings: Settings, splits: Splits, split: str) -> Scores:
    """Says the most frequent training label of everything, with the labels' shares as probabilities."""
    if isinstance(settings.writer, answer.Config):  # which may be others than those of training
        common = Counter(map(answer.learned, targets_of(splits.train))).most_common(1)[0][0]
        right = [answer.learned(target) == common for target in targets_of(getattr(splits, split))]
        return {"examples": len(right), "accuracy": float(np.mean(right))}
    labels, numbers = _labels(splits)
    shares = np.bincount(_numbered(splits.train, numbers), minlength=len(labels)) / len(splits.train)
    examples = getattr(splits, split)
    return label_scores(_numbered(examples, numbers), np.tile(shares, (len(examples), 1)))


def logistic_regression(settings: Settings, splits: Splits, split: str, ngrams: int = 1) -> Scores:
    """Logistic regression on TF-IDF of words, on pixels, on a node's own features, or on a bag's mean and maximum."""
    linear = _sklearn("linear_model")
    labels, numbers = _labels(splits)
    features = _features(splits, ngrams)
    examples, truth = features(splits.train), _numbered(splits.train, numbers)

    def probabilities(strength: float, part: Sequence[Example]) -> NDArray[np.float64]:
        model = linear.LogisticRegression(C=strength, max_iter=1000).fit(examples, truth)
        table: NDArray[np.float64] = np.zeros((len(part), len(labels)))
        table[:, model.classes_] = model.predict_proba(features(part))
        return table

    def accuracy(strength: float) -> float:
        return label_scores(_numbered(splits.valid, numbers), probabilities(strength, splits.valid))["accuracy"]

    best = max(STRENGTHS, key=accuracy) if splits.valid else 1.0
    part = getattr(splits, split)
    return label_scores(_numbered(part, numbers), probabilities(best, part))


def logistic_regression_bigrams(settings: Settings, splits: Splits, split: str) -> Scores:
    """The same on words and pairs of neighboring words."""
    return logistic_regression(settings, splits, split, ngrams=2)


def nearest_neighbor(settings: Settings, splits: Splits, split: str) -> Scores:
    """Says of everything what the training example says that is most like it, by the cosine of the same features."""
    features, part = _features(splits, 1), getattr(splits, split)
    near = _sklearn("neighbors").NearestNeighbors(n_neighbors=1, metric="cosine").fit(features(splits.train))
    targets = [splits.train[int(index)].target for (index,) in near.kneighbors(features(part), return_distance=False)]
    if hasattr(settings.writer, "bleu_tokenize"):
        right = float(np.mean([target == example.target for target, example in zip(targets, part, strict=True)]))
        scores = translation_scores(targets, [[example.target] for example in part], settings.writer.bleu_tokenize)
        return {"examples": len(part), "exact_match": right, **scores}
    labels, numbers = _labels(splits)
    return label_scores(_numbered(part, numbers), np.eye(len(labels))[[numbers[target] for target in targets]])


def ngram_model(settings: Settings, splits: Splits, split: str) -> Scores:
    """A language model of n-grams of the run's own tokens, interpolated, with absolute discounting (Ney et al. 1994)."""
    task = Task.fit(settings, splits)
    learned, tokens = (task.writer.corpus(part).tokens.tolist() for part in (splits.train, getattr(splits, split)))
    probability = interpolated(learned, task.writer.vocabulary.size)
    chances = [probability(tuple(tokens[max(0, at - ORDER + 1) : at]), tokens[at]) for at in range(1, len(tokens))]
    loss = float(-np.log(chances).mean())
    return {"examples": len(getattr(splits, split)), "loss": loss, "perplexity": perplexity(loss)}


def interpolated(learned: Sequence[int], vocabulary: int) -> Callable[[tuple[int, ...], int], float]:
    """The probability of a token after a context, by the n-grams of these tokens; all tokens alike where none is known."""
    following: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for place, token in enumerate(learned):
        for size in range(min(ORDER, place + 1)):
            following[tuple(learned[place - size : place])][token] += 1
    totals = {context: counts.total() for context, counts in following.items()}

    def probability(context: tuple[int, ...], token: int) -> float:
        lower = probability(context[1:], token) if context else 1 / vocabulary
        if context not in totals:
            return lower
        counts = following[context]
        return (max(counts[token] - DISCOUNT, 0) + DISCOUNT * len(counts) * lower) / totals[context]

    return probability


def mean_number(settings: Settings, splits: Splits, split: str) -> Scores:
    """Says the mean of the training numbers of everything."""
    truth = number.numbers(getattr(splits, split))
    return number_scores(
        truth, np.full(len(truth), number.numbers(splits.train).mean()), number.NumberScale.of(splits.train).digits
    )


def linear_regression(settings: Settings, splits: Splits, split: str) -> Scores:
    """Ridge regression on how often each word comes, or on the number of items, their sum, mean and maximum."""
    linear, features, digits = _sklearn("linear_model"), _summed(splits), number.NumberScale.of(splits.train).digits
    examples, truth = features(splits.train), number.numbers(splits.train)

    def scores(penalty: float, part: Sequence[Example]) -> Scores:
        model = linear.Ridge(alpha=penalty, solver="lsqr", tol=1e-6).fit(examples, truth)
        return number_scores(number.numbers(part), model.predict(features(part)), digits)

    best = min(PENALTIES, key=lambda penalty: scores(penalty, splits.valid)["mae"]) if splits.valid else 1.0
    return scores(best, getattr(splits, split))


def farthest(settings: Settings, splits: Splits, split: str) -> Scores:
    """Of each set the item that is farthest from the mean of all, each feature by its spread in training."""
    spread = np.concatenate([_items(example) for example in splits.train]).std(0)
    truth, distances = [], []
    for example in getattr(splits, split):
        rows = _items(example) / np.where(spread > 0, spread, 1)
        distances.append(np.linalg.norm(rows - rows.mean(0), axis=1))
        truth.append(int(example.input.marks.argmax()))
    return choice_scores(np.array(truth, dtype=np.int64), distances)


def most_frequent_word(settings: Settings, splits: Splits, split: str) -> Scores:
    """Ranks all words that are not in the set by how often they come in training."""
    counts = WordCounts(splits.train)
    return counts.ranked(getattr(splits, split), math.inf)


def co_occurrence(settings: Settings, splits: Splits, split: str) -> Scores:
    """Ranks them by naive Bayes: how likely the word is, and each word of the set beside it."""
    counts = WordCounts(splits.train)
    best = max(PENALTIES, key=lambda smoothing: counts.ranked(splits.valid, smoothing)["mrr"]) if splits.valid else 1.0
    return counts.ranked(getattr(splits, split), best)


class WordCounts:
    """How often words come, and how often beside each word that was to be predicted."""

    def __init__(self, examples: Sequence[Example]) -> None:
        sets = [(example.input.split(), example.target) for example in examples]
        self.numbers = {
            word: number for number, word in enumerate(sorted({word for own, last in sets for word in (*own, last)}))
        }
        size = len(self.numbers)
        self.alone, self.beside = np.zeros(size), np.zeros((size, size), np.float32)
        for own, last in sets:
            given = [self.numbers[word] for word in own]
            np.add.at(self.beside, (given, self.numbers[last]), 1)
            self.alone[[*given, self.numbers[last]]] += 1

    def ranked(self, examples: Sequence[Example], smoothing: float) -> Scores:
        """How good the ranks of the targets are; the more smoothing, the less the words of a set say."""
        ranks = [self._rank(example, smoothing) for example in examples]
        return rank_scores(np.array(ranks, dtype=np.float64), WITHIN)

    def _rank(self, example: Example, smoothing: float) -> float:
        if (target := self.numbers.get(example.target)) is None:
            return math.inf
        given = [self.numbers[word] for word in example.input.split() if word in self.numbers]
        scores = np.log(self.alone)
        if math.isfinite(smoothing):
            share = self.alone[given, None] / self.alone.sum()
            beside = (self.beside[given] + smoothing * share) / (self.beside.sum(0) + smoothing)
            scores = scores + np.log(beside).sum(0)
        scores[given] = -np.inf
        return rank_of(scores, target)


Baseline = Callable[[Settings, Splits, str], Scores]
LABELS = (most_frequent, logistic_regression, logistic_regression_bigrams, nearest_neighbor)
NUMBERS, WORDS = (mean_number, linear_regression), (most_frequent_word, co_occurrence)
BASELINES: dict[str, Baseline] = {one.__name__: one for one in (*LABELS, *NUMBERS, farthest, *WORDS, ngram_model)}


def metrics(name: str, settings: Settings) -> Sequence[str]:
    """What a baseline is scored by."""
    if name == "ngram_model":
        return ("loss", "perplexity")
    if name == "farthest":
        return ("accuracy", "chance")
    if BASELINES[name] in NUMBERS:
        return ("exact_match", "mae")
    if BASELINES[name] in WORDS:
        return ("mrr", *(f"recall_{within}" for within in WITHIN))
    return TEXT_SCORES if hasattr(settings.writer, "bleu_tokenize") else LABEL_SCORES


def scored(name: str, settings: Settings, splits: Splits, split: str) -> dict[str, Any]:
    """The scores of a baseline on a part of the data, how they were computed, and the minutes it took."""
    started = time.monotonic()
    scores = BASELINES[name](settings, splits, split)
    how = signatures(settings.writer.bleu_tokenize) if "bleu" in scores else {}
    minutes = round((time.monotonic() - started) / 60, 3)
    return {"split": split, "scores": {"all": scores}, "signatures": how, "minutes": minutes}


def _sklearn(module: str) -> Any:
    try:
        return __import__(f"sklearn.{module}", fromlist=["sklearn"])
    except ImportError:
        raise MissingExtra("this baseline", "scikit-learn", "sklearn") from None


def _labels(splits: Splits) -> tuple[list[str], dict[str, int]]:
    """The labels in their order, and the number of each."""
    labels = list(splits.labels) or in_order({example.target for example in splits.train})
    return labels, {label: number for number, label in enumerate(labels)}


def _numbered(examples: Sequence[Example], numbers: dict[str, int]) -> NDArray[np.int64]:
    try:
        return np.array([numbers[example.target] for example in examples], dtype=np.int64)
    except KeyError as error:
        raise DataError(f"expected labels of the training data, got {error.args[0]!r}; leave those examples out") from None


def _features(splits: Splits, ngrams: int) -> Callable[[Sequence[Example]], Any]:
    """A function from examples to a matrix with a row for each; what it must learn it learns from the training data."""
    kind = splits.train[0].input
    if isinstance(kind, str):
        text = _sklearn("feature_extraction.text")
        words = text.TfidfVectorizer(ngram_range=(1, ngrams), token_pattern=r"\S+", sublinear_tf=True)
        words.fit([example.input for example in splits.train])
        return lambda examples: words.transform([example.input for example in examples])
    if ngrams > 1:
        raise UsageError("logistic_regression_bigrams: expected texts, got another kind of input; use logistic_regression")
    if not isinstance(kind, Bag):
        return lambda examples: _rows(examples, splits.shared)
    scale = _sklearn("preprocessing").StandardScaler().fit(_rows(splits.train, None))
    return lambda examples: scale.transform(_rows(examples, None))


def _summed(splits: Splits) -> Callable[[Sequence[Example]], Any]:
    """A function from sets to a matrix with a row for each: counts of words, or sums over items."""
    if isinstance(splits.train[0].input, str):
        words = _sklearn("feature_extraction.text").CountVectorizer(token_pattern=r"\S+")
        words.fit([example.input for example in splits.train])
        return lambda examples: words.transform([example.input for example in examples]).astype(np.float64)

    def rows(examples: Sequence[Example]) -> NDArray[np.float64]:
        items = [_items(example) for example in examples]
        return np.stack([np.concatenate([[len(own)], own.sum(0), own.mean(0), own.max(0)]) for own in items])

    scale = _sklearn("preprocessing").StandardScaler().fit(rows(splits.train))
    return lambda examples: scale.transform(rows(examples))


def _items(example: Example) -> NDArray[np.float64]:
    """The items of a set as rows of numbers."""
    items: NDArray[np.float64] = example.input.items.reshape(len(example.input.items), -1).astype(np.float64)
    return items


def _rows(examples: Sequence[Example], shared: Any) -> NDArray[np.float64]:
    """Inputs as rows of as many numbers each."""
    first = examples[0].input
    if isinstance(first, Bag):
        items = [example.input.items.reshape(len(example.input.items), -1) for example in examples]
        return np.stack([np.concatenate([rows.mean(0), rows.max(0)]) for rows in items])
    if isinstance(first, Picture):
        return np.stack([example.input.pixels.ravel() for example in examples]) / 255
    if hasattr(shared, "features"):
        return np.stack([_dense(shared.features, int(example.input)) for example in examples])
    raise UsageError(f"baseline: expected texts, bags, pictures or nodes, got {type(first).__name__}; leave the row out")


def _dense(features: Any, node: int) -> NDArray[np.float64]:
    row = np.zeros(features.width)
    places = slice(features.starts[node], features.starts[node + 1])
    row[features.columns[places]] = features.values[places]
    return row
