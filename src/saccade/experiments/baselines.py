"""Baselines: what a few lines without attention come to, on the same data, as rows of a table.

Nothing here is tuned but the strength of regularization, which is chosen on the validation data.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.examples import Bag, Example, Picture, Splits, in_order
from saccade.errors import DataError, MissingExtra, UsageError
from saccade.evaluation.labels import LABEL_SCORES, label_scores
from saccade.evaluation.text_scores import perplexity, signatures, translation_scores
from saccade.task import Task
from saccade.training.settings import Settings

Scores = dict[str, float]
STRENGTHS = (0.1, 1.0, 3.0, 10.0, 30.0)  # C of logistic regression
TEXT_SCORES = ("exact_match", "bleu", "chrf")
ORDER = 5  # tokens of the longest n-gram
DISCOUNT = 0.75


def most_frequent(settings: Settings, splits: Splits, split: str) -> Scores:
    """Says the most frequent training label of everything, with the labels' shares as probabilities."""
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
        scores = translation_scores(targets, [example.target for example in part], settings.writer.bleu_tokenize)
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


Baseline = Callable[[Settings, Splits, str], Scores]
LABELS = (most_frequent, logistic_regression, logistic_regression_bigrams, nearest_neighbor)
BASELINES: dict[str, Baseline] = {one.__name__: one for one in (*LABELS, ngram_model)}


def metrics(name: str, settings: Settings) -> Sequence[str]:
    """What a baseline is scored by."""
    if name == "ngram_model":
        return ("loss", "perplexity")
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
