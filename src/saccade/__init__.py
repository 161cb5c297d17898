"""saccade: train attention models, run them, and see where they look.

    model = saccade.load("runs/dates")
    model.predict("<de_DE> 9. März 2029")
    model.look("<de_DE> 9. März 2029")
    saccade.look(any_torch_model, tokenizer, "a text")

Importing saccade imports no torch; a name is imported when it is used.
"""

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

_PLACES = {
    "Attended": "saccade.attention",
    "Evaluation": "saccade.evaluation.metrics",
    "Example": "saccade.data.examples",
    "Prediction": "saccade.writers.writer",
    "SaccadeError": "saccade.errors",
    "Shown": "saccade.view.shown",
    "TrainedModel": "saccade.trained",
    "attend": "saccade.attention",
    "attend_edges": "saccade.attention",
    "load": "saccade.exchange.opening",
    "plot": "saccade.training.run_curves",
    "look": "saccade.inside",
    "looking": "saccade.inside",
    "train": "saccade.new_run",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'saccade' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
