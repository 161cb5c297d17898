"""Estimators for scikit-learn: `fit`, `predict`, pipelines and searches over attention."""

from saccade.errors import MissingExtra

try:
    import sklearn  # noqa: F401 - asked for here, so that its absence is one line
except ImportError:
    raise MissingExtra("saccade.estimators", "scikit-learn", "sklearn") from None

from saccade.estimators.bag_classifier import AttentionMILClassifier
from saccade.estimators.fit_picture import picture
from saccade.estimators.kernel_estimators import NadarayaWatsonClassifier, NadarayaWatsonRegressor

__all__ = ["AttentionMILClassifier", "NadarayaWatsonClassifier", "NadarayaWatsonRegressor", "picture"]
