"""Data: one file per data set or format, batching, tokenizers. A data set's module holds `Config` and `load(config)`."""

import importlib
from types import ModuleType

from saccade.errors import UnknownName

DATASETS = {
    "dates": "saccade.data.dates",
    "files": "saccade.data.files",
    "graphs": "saccade.data.graphs",
    "multi30k": "saccade.data.multi30k",
    "planetoid": "saccade.data.planetoid",
    "sentences": "saccade.data.sentences",
    "tatoeba": "saccade.data.tatoeba",
}


GRAPHS = ("graphs", "planetoid")  # whose data is a graph; that of all others is texts


def dataset(name: str) -> ModuleType:
    """The module of this data set."""
    if name not in DATASETS:
        raise UnknownName("data set", name, DATASETS)
    return importlib.import_module(DATASETS[name])
