"""A directory of published parameters, in the layout of any family, becomes a run."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from saccade import systems
from saccade.config import plain
from saccade.data.tokenizers import Vocabulary
from saccade.errors import DataError, UsageError
from saccade.exchange import families, published
from saccade.exchange.families import Family, PublishedModel
from saccade.exchange.layouts import layout_of
from saccade.lock import locked
from saccade.systems.system import System
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve

SHOWN = 8  # tensors that a message lists


@dataclass(frozen=True)
class ImportedModel:
    """A published model, and the settings of the run that it becomes."""

    settings: Settings
    published: PublishedModel
    module: System

    def save(self, folder: Path) -> None:
        """Reader and writer, and the files that their tokenizers were made from, which an export hands on."""
        self.published.task.save(folder)
        for file in self.published.files:
            shutil.copyfile(file, folder / file.name)


def read(path: Path, *, unsafe_bin: bool = False) -> ImportedModel:
    """The model in a directory; `unsafe_bin` takes the parameters of pytorch_model.bin."""
    table = published.json_table(path / published.CONFIG)
    family = families.named_in(table, path / published.CONFIG)
    given = published.parameters(path, family.ARCHITECTURE, unsafe_bin=unsafe_bin)
    parsed = family.read(path, table, given)
    kind, sizes = systems.load(family.SYSTEM).Model, parsed.task.sizes()
    with torch.device("meta"):  # sizes that the parameters do not have would fill the memory
        wanted = kind(parsed.config, **sizes).state_dict()
    arranged = _arranged(family, path / published.PARAMETERS, wanted, given)
    model: System = kind(parsed.config, **sizes)
    model.load_state_dict(arranged)
    return ImportedModel(_settings(family, parsed), parsed, model.eval())


def import_model(path: Path, out: Path, *, unsafe_bin: bool = False) -> Run:
    """The run in `out` that is the model in `path`."""
    model = read(path, unsafe_bin=unsafe_bin)
    if out.exists() and (not out.is_dir() or any(child.name != ".lock" for child in out.iterdir())):
        raise UsageError(f"{out}: expected a new or empty directory for the run, got one in use; choose another")
    with locked(out):
        run = Run.create(out, model.settings).keep(model.save)
        run.checkpoints.save(0, {"model": model.module.state_dict()}, {"imported": str(path.resolve())}, best=True)
    return run


def _settings(family: Family, model: PublishedModel) -> Settings:
    sizes = [known.size for known in model.task.sizes().values() if isinstance(known, Vocabulary)]
    return resolve(
        {
            "system": family.SYSTEM,
            "task": model.task_name,
            "model": plain(model.config),
            "tokens": {"kind": "imported", "size": max(sizes)},
            "reader": plain(model.task.reader.config),
            "writer": plain(model.task.writer.config),
            "search": model.search,
        }
    )


def _arranged(family: Family, file: Path, wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters under our names; `wanted` says what shapes they must have."""
    known = {name for ours in wanted for name in family.tensor_names(ours)}
    if more := [name for name, tensor in given.items() if name not in known and not family.is_computed(name, tensor)]:
        raise DataError(f"{file}: expected the tensors of config.json, got also {_listed(more)}; no fix is known")
    names = {ours: family.tensor_names(ours) for ours in wanted}
    if missing := [theirs[0] for theirs in names.values() if not any(name in given for name in theirs)]:
        what = "a tensor" if len(missing) == 1 else "tensors"
        raise DataError(f"{file}: expected {what} {_listed(missing)}, got none; fix: {published.AGAIN}")
    arranged = {}
    for name, tensor in wanted.items():
        theirs = next(candidate for candidate in names[name] if candidate in given)
        layout = layout_of(family.LAYOUTS, name)
        stored = layout.flat(given[theirs])
        expected = layout.stored_shape(family.tensor_shape(name, tuple(tensor.shape)))
        if (got := tuple(stored.shape)) != expected:
            raise DataError(f"{file}: {theirs}: expected {expected}, got {got}; fix: take config.json of it")
        arranged[name] = layout.taken(stored).float().reshape(tensor.shape)
    return arranged


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more."""
    names = list(dict.fromkeys(names))
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
