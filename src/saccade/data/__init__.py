"""Data: one file per data set or format, batching, tokenizers. A data set's module holds `Config` and `load(config)`."""

import importlib
from types import ModuleType

from saccade.errors import UnknownName

DATASETS = {
    "dates": "saccade.data.dates",
    "files": "saccade.data.files",
    "multi30k": "saccade.data.multi30k",
}


def dataset(name: str) -> ModuleType:
    """The module of this data set."""
    if name not in DATASETS:
        raise UnknownName("data set", name, DATASETS)
    return importlib.import_module(DATASETS[name])
