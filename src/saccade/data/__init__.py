"""Data: one file per data set or format, batching, tokenizers. A data set's module holds `Config` and `load(config)`."""

import importlib
from types import ModuleType

from saccade.errors import UnknownName

# What data sets are made of; the first of each kind is the user's own.
KINDS = {
    "texts": ("files", "caption_words", "dates", "imdb", "multi30k", "semeval14", "sentences", "tatoeba"),
    "a graph": ("graphs", "planetoid"),
    "bags": ("bags", "mil", "mnist_bags", "point_clouds"),
    "images": ("images", "fashion_mnist"),
    "sets": ("files", "bags", "digit_sums"),
    "sets with an odd one": ("bags", "set_outliers"),
}
EXAMPLES = {
    "texts": "data.train=my.tsv, or a set such as data.name=sentences",
    "a graph": "data.nodes=nodes.csv data.edges=edges.csv, or data.name=planetoid",
    "bags": "data.train=bags.csv, or a set such as data.name=mil",
    "images": "data.train=FOLDER with a folder for each label, or data.name=fashion_mnist",
    "sets": "data.train=my.tsv tokens.kind=word, or a set such as data.name=digit_sums",
    "sets with an odd one": "data.train=bags.csv with one mark in each bag, or data.name=set_outliers",
}
DATASETS = sorted({name for names in KINDS.values() for name in names})


def dataset(name: str) -> ModuleType:
    """The module of this data set."""
    if name not in DATASETS:
        raise UnknownName("data set", name, DATASETS)
    return importlib.import_module(f"saccade.data.{name}")


def own(kind: str) -> str:
    """The data set of the user's own files of this kind."""
    return KINDS[kind][0]
