"""What a run is: a system, its data, its task, how to train and how to search, resolved from a recipe and words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import config, data, recipes, systems, tasks
from saccade.config import Table
from saccade.data import tokenizers
from saccade.errors import UnknownName, UsageError
from saccade.search import Config as SearchConfig
from saccade.training.config import Config as TrainConfig

SECTIONS = ("model", "data", "tokens", "task", "train", "search")


@dataclass(frozen=True)
class Settings:
    """Every key of a run, checked."""

    system: str
    dataset: str
    model: Any
    data: Any
    tokens: tokenizers.Config
    task: Any
    train: TrainConfig
    search: SearchConfig

    def table(self) -> Table:
        """All of it as it is written into the run."""
        sections = {name: config.plain(getattr(self, name)) for name in SECTIONS}
        sections["data"] = {"name": self.dataset, **sections["data"]}
        return {"system": self.system, **sections}


def kinds(system: str, dataset: str) -> dict[str, type]:
    """The config class of each section."""
    module = systems.load(system)
    return {
        "model": module.Config,
        "data": data.dataset(dataset).Config,
        "tokens": tokenizers.Config,
        "task": tasks.load(module.TASK).Config,
        "train": TrainConfig,
        "search": SearchConfig,
    }


def base(name: str) -> Table:
    """What a name stands for: a recipe, a TOML file, or a bare system with data of the user's own."""
    if name.endswith(".toml"):
        return config.read(Path(name))
    if name in recipes.names():
        return recipes.load(name)
    if systems.EARLIER.get(name, name) in systems.names():
        return {"system": name}
    raise UnknownName("recipe or system", name, [*recipes.names(), *systems.names()])


def resolve(table: Mapping[str, Any], words: Sequence[str] = ()) -> Settings:
    """The settings of a table (a recipe, or a run's config.toml) and what the command line changes in it."""
    over = config.words(words)
    table = {key: value for key, value in table.items() if key != "about"}
    for name in (*table, *over):
        if name not in ("system", *SECTIONS):
            raise UnknownName("section", name, ["system", *SECTIONS])
    if any(not isinstance(table.get(section, {}), Mapping) for section in SECTIONS):
        raise UsageError("expected sections such as [train] with keys of their own")
    given = over.get("data", {})
    if {"train", "nodes"} & given.keys() and given.get("name", own := _own(table)) == own:
        # The user's own files take the place of the recipe's data, whatever keys that had.
        table = {**table, "data": {"name": own}}
    made = _settings(config.merged(table, over))
    made.search.heed(over.get("search", {}))
    return made


def _own(table: Mapping[str, Any]) -> str:
    """The data set of the user's own files, as the system can read them."""
    system = table.get("system")
    return data.own(tasks.load(systems.load(system).TASK).DATA if isinstance(system, str) else "texts")


def _with_preset(system: str, model: Table) -> Table:
    """The sizes that `model.preset` stands for, under what is given by itself."""
    if "preset" not in model:
        return model
    presets: Mapping[str, Table] = getattr(systems.load(system), "PRESETS", {})
    name = model["preset"]
    if name not in presets:
        raise UnknownName(f"preset of {system}", str(name), presets)
    return {**presets[name], **{key: value for key, value in model.items() if key != "preset"}}


def _settings(table: Table) -> Settings:
    if not isinstance(table.get("system"), str):
        raise UsageError(f'expected system = "NAME"; known: {", ".join(systems.names())}')
    sections: dict[str, Table] = {name: dict(table.get(name, {})) for name in SECTIONS}
    dataset = sections["data"].pop("name", _own(table))
    if not isinstance(dataset, str):
        raise UsageError(f"data.name: expected a name, got {dataset!r}")
    usual = getattr(tasks.load(systems.load(table["system"]).TASK), "TOKENS", None)
    sections["tokens"] = {**({"kind": usual} if usual else {}), **sections["tokens"]}
    sections["model"] = _with_preset(table["system"], sections["model"])
    built: Table = {name: config.build(kind, sections[name], name) for name, kind in kinds(table["system"], dataset).items()}
    return Settings(table["system"], dataset, **built)
