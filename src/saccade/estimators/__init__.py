"""Estimators for scikit-learn: `fit`, `predict`, pipelines and searches over attention."""

from saccade.errors import MissingExtra

try:
    import sklearn  # noqa: F401 - asked for here, so that its absence is one line
except ImportError:
    raise MissingExtra("saccade.estimators", "scikit-learn", "sklearn") from None

from saccade.estimators.attention_mil import AttentionMILClassifier
from saccade.estimators.nadaraya_watson import NadarayaWatsonClassifier, NadarayaWatsonRegressor
from saccade.estimators.picture import picture

__all__ = ["AttentionMILClassifier", "NadarayaWatsonClassifier", "NadarayaWatsonRegressor", "picture"]
