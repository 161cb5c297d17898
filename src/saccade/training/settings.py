"""What a run is: a system, its data, reader and writer, how to train and how to search, resolved from a recipe and words."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from saccade import config, data, readers, recipes, systems, writers
from saccade.config import Table
from saccade.data import tokenizers
from saccade.errors import DataError, UnknownName, UsageError
from saccade.search import Config as SearchConfig
from saccade.task import Kinds
from saccade.training import other_names
from saccade.training.train_config import Config as TrainConfig

# The keys without a section: the run or published directory that training begins with, and which task of a system it is.
START, TASK = "start", "task"
SECTIONS = ("model", "data", "tokens", "reader", "writer", "train", "search")


@dataclass(frozen=True)
class Settings:
    """Every key of a run, checked. A section that neither reader, writer nor system has is None."""

    system: str
    dataset: str
    model: Any
    data: Any
    reader: Any
    writer: Any
    train: TrainConfig
    tokens: tokenizers.Config | None = None
    search: SearchConfig | None = None
    start: str = ""
    """What it begins with: the directory of a run, or a published one; empty: nothing."""
    task: str = ""
    """Which of the system's tasks; empty: its first."""

    def table(self) -> Table:
        """All of it as it is written into the run."""
        known = kinds(self.system, self.dataset, self.task)
        sections = {name: config.plain(getattr(self, name)) for name in known}
        sections["data"] = {"name": self.dataset, **sections["data"]}
        plain = {key: value for key, value in ((TASK, self.task), (START, self.start)) if value}
        return {"system": self.system, **plain, **sections}


def kinds(system: str, dataset: str, task: str = "") -> dict[str, type]:
    """The config class of each section that the system, its reader and its writer have."""
    module, both = systems.load(system), Kinds.of(system, task)
    read, written = systems.sides(system, task)
    tokens: dict[str, type] = {"tokens": tokenizers.Config} if both.reader.TOKENIZED or both.writer.TOKENIZED else {}
    search: dict[str, type] = {"search": SearchConfig} if both.writer.SEARCHES else {}
    sections = {"reader": readers.load(read).Config, "writer": writers.load(written).Config}
    return {
        "model": module.Config,
        "data": data.dataset(dataset).Config,
        **tokens,
        **{name: kind for name, kind in sections.items() if fields(kind)},
        "train": TrainConfig,
        **search,
    }


def base(name: str) -> Table:
    """What a name stands for: a recipe, a TOML file, or a bare system with data of the user's own."""
    if name.endswith(".toml"):
        return config.read(Path(name))
    if name in recipes.names():
        return recipes.load(name)
    if name in systems.names():
        return {"system": name}
    if "/" in name:
        raise DataError(f"{name}: no such run; expected a recipe, a system, a TOML file or the directory of a run")
    if "=" in name:
        raise UsageError(f"expected a recipe or system first, got {name!r}; such as: document_attention {name}")
    raise UnknownName("recipe or system", name, [*recipes.names(), *systems.names()])


def start_of(table: Mapping[str, Any], words: Sequence[str] = ()) -> str:
    """What a table, or a word, says that training begins with; empty: nothing."""
    start = _said(START, table, words)
    if not isinstance(start, str):
        raise UsageError(f"start: expected the directory of a run, or a published one, got {start!r}")
    return start


def task_of(table: Mapping[str, Any], words: Sequence[str] = ()) -> str:
    """Which of its system's tasks a table, or a word, says; empty: the first."""
    system, task = table["system"], _said(TASK, table, words)
    if not isinstance(task, str):
        raise UsageError(f"task: expected the name of a task, got {task!r}")
    return "" if systems.sides(system, task) == systems.sides(system) else task


def _said(key: str, table: Mapping[str, Any], words: Sequence[str]) -> Any:
    """What the last word says of a key without a section, else the table."""
    said = [word.partition("=")[2].strip() for word in words if _plain_key(word) == key]
    return said[-1] if said else table.get(key, "")


def _plain_key(word: str) -> str:
    """The key of a word that is none of a section; else nothing."""
    path, equals, _ = word.partition("=")
    return path.strip() if equals and path.strip() in (START, TASK) else ""


def resolve(table: Mapping[str, Any], words: Sequence[str] = (), begun: Settings | None = None) -> Settings:
    """The settings of a table (a recipe, or a run's config.toml) and what the command line changes in it. Of a model, reader
    and writer that begin with those of a run, whose settings are `begun`, what neither says is as it is there."""
    table = {key: value for key, value in table.items() if key != "about"}
    if any(not isinstance(table.get(section, {}), Mapping) for section in SECTIONS):
        raise UsageError("expected sections such as [train] with keys of their own")
    if not isinstance(table.get("system"), str):
        raise UsageError(f'expected system = "NAME"; known: {", ".join(systems.names())}')
    start, task = start_of(table, words), task_of(table, words)
    words = [word for word in words if not _plain_key(word)]
    table = {key: value for key, value in table.items() if key not in (START, TASK)}
    _require_sections(table, words, task)
    over = config.words(words)
    texts = {path.strip(): value.strip() for path, _, value in (word.partition("=") for word in words)}
    given, own = over.get("data", {}), Kinds.of(table["system"], task).own
    if {"train", "nodes"} & given.keys() and given.get("name", own) == own:
        # The user's own files take the place of the recipe's data, whatever keys that had.
        table = {**table, "data": {"name": own}}
    if begun is not None:
        _require_unlearned(table["system"], task, over, begun, start)
    made = replace(_settings(config.merged(table, over), task, texts, begun), start=start)
    made.train.heed(over.get("train", {}))
    if made.search is not None:
        made.search.heed(over.get("search", {}))
    return made


def _require_sections(table: Mapping[str, Any], words: Sequence[str], task: str) -> None:
    """Refuse sections that are unknown, and words without one, and say what may be meant."""
    sections = ["system", TASK, START, *SECTIONS]
    for name in table:
        if name not in sections:
            raise UnknownName("section", name, sections)
    for word in words:
        path, equals, value = (part.strip() for part in word.partition("="))
        section, dot, key = path.partition(".")
        if section == START:
            raise UsageError(f"{path}: no such key; expected start=RUN, such as start=runs/dates")
        if key == START and section in ("train", "model"):
            raise UsageError(f"{path}: no such key; did you mean {START}={value or 'RUN'}?")
        if section == TASK:
            raise UsageError(f"{path}: no such key; expected task=NAME, such as task=label")
        if not equals or (dot and section in sections):
            continue
        if not dot and difflib.get_close_matches(section, [START], 1, 0.75):
            raise UsageError(f"{path}: expected section.key=value; did you mean {START}={value}?")
        if not (dot and difflib.get_close_matches(section, sections)):
            _suggest(path, "expected section.key=value", key or section, _possible(table, task), value, near=not dot)
        if dot:
            raise UnknownName("section", section, sections)


def _possible(table: Mapping[str, Any], task: str) -> list[str]:
    """The keys that a run of this table has, or would have with the user's own files."""
    system, own = table["system"], Kinds.of(table["system"], task).own
    return [key for dataset in (table.get("data", {}).get("name", own), own) for key in keys(kinds(system, dataset, task))]


def _with_preset(system: str, table: Table) -> Table:
    """The settings that `model.preset` stands for, a paper's model and training, under what is given by itself."""
    model = table.get("model", {})
    if "preset" not in model:
        return table
    presets: Mapping[str, Table] = getattr(systems.load(system), "PRESETS", {})
    name = model["preset"]
    if name not in presets:
        raise UnknownName(f"preset of {system}", str(name), presets)
    return config.merged(presets[name], {**table, "model": {key: model[key] for key in model if key != "preset"}})


def _inherited(system: str, task: str, begun: Settings) -> Table:
    """What a run that begins with another takes of its settings: keys of the model by their names, where both systems have
    them, and keys of a reader and a writer of the same kind, with how outputs are searched for."""
    own = systems.load(system)
    taken = {"model": _common(own.Config, begun.model) if system != begun.system else config.plain(begun.model)}
    names = zip(systems.sides(system, task), systems.sides(begun.system, begun.task), strict=True)
    for section, load, both in zip(("reader", "writer"), (readers.load, writers.load), names, strict=True):
        kind, earlier = (load(name).Config for name in both)
        if issubclass(kind, earlier) or issubclass(earlier, kind):
            taken[section] = _common(kind, getattr(begun, section))
    if "writer" in taken and begun.search is not None:
        taken["search"] = config.plain(begun.search)
    return taken


def _common(kind: type, earlier: Any) -> Table:
    """The keys of an earlier config that mean the same in this class."""
    own, theirs = get_type_hints(kind, include_extras=True), get_type_hints(type(earlier), include_extras=True)
    return {key: value for key, value in config.plain(earlier).items() if key in own and own[key] == theirs[key]}


def _learned(system: str, task: str, begun: Settings) -> dict[str, tuple[str, ...]]:
    """By section, the keys that decide nothing where reader and writer keep what those of an earlier run have learned."""
    own, theirs = Kinds.of(system, task), Kinds.of(begun.system, begun.task)
    sides = {"reader": (own.reader, theirs.reader), "writer": (own.writer, theirs.writer)}
    agreeing = {name: mine for name, (mine, other) in sides.items() if mine.agrees(other)}
    tokens = any(side.TOKENIZED for side in agreeing.values()) and begun.tokens is not None
    known = {name: {field.name for field in fields(kind)} for name, kind in kinds(system, own.own, task).items()}
    learned = {name: tuple(key for key in side.LEARNED if key in known.get(name, ())) for name, side in agreeing.items()}
    return {**learned, "tokens": tuple(field.name for field in fields(tokenizers.Config))} if tokens else learned


def _require_unlearned(system: str, task: str, over: Mapping[str, Any], begun: Settings, start: str) -> None:
    """Refuse words that decide what is learned where that comes from an earlier run."""
    for section, names in _learned(system, task, begun).items():
        for key in names:
            if key in over.get(section, {}):
                raise UsageError(f"{section}.{key}: has no effect with start={start}, whose own is kept; leave it out")


def _begun_with(system: str, task: str, table: Table, begun: Settings) -> Table:
    """The table without what is learned anew, and with the tokens of the earlier run, if those are kept."""
    learned = _learned(system, task, begun)
    kept = {
        section: {key: value for key, value in values.items() if key not in learned.get(section, ())}
        if isinstance(values, Mapping)
        else values
        for section, values in table.items()
    }
    return {**kept, "tokens": config.plain(begun.tokens)} if "tokens" in learned else kept


def _settings(table: Table, task: str, texts: Mapping[str, str], begun: Settings | None = None) -> Settings:
    system = table["system"]
    defaults, table = systems.defaults(system, task), _with_preset(system, table)
    if begun is not None:
        defaults = config.merged(defaults, _inherited(system, task, begun))
    table = config.merged(defaults, table)
    if begun is not None:
        table = _begun_with(system, task, table, begun)
    sections: dict[str, Table] = {name: dict(table.get(name, {})) for name in SECTIONS}
    dataset = sections["data"].pop("name", Kinds.of(system, task).own)
    if not isinstance(dataset, str):
        raise UsageError(f"data.name: expected a name, got {dataset!r}")
    known = kinds(system, dataset, task)
    for section in SECTIONS:
        for key in sections[section]:
            _require_known(system, section, key, known, texts)
    built: Table = {name: config.build(kind, sections[name], name) for name, kind in known.items()}
    built |= {name: config.Empty() for name in ("reader", "writer") if name not in built}
    return Settings(system, dataset, task=task, **built)


def keys(known: Mapping[str, type]) -> list[str]:
    """Every key of these sections, as it is typed."""
    return [f"{section}.{field.name}" for section, kind in known.items() for field in fields(kind)]


def _require_known(system: str, section: str, key: str, known: Mapping[str, type], texts: Mapping[str, str]) -> None:
    """Refuse a key that would have no effect, and say where it lives, if it does."""
    every, path = keys(known), f"{section}.{key}"
    if path in every:
        return
    _suggest(path, "no such key", key, every, texts.get(path))
    if section not in known:
        raise UsageError(f"{path}: {system} has no section [{section}]; leave it out (see: saccade config {system})")


def _suggest(path: str, what: str, name: str, every: Sequence[str], value: str | None, *, near: bool = False) -> None:
    """Refuse a name that is no key by the keys that are called so, here, elsewhere or nearly; else let it be."""
    name = other_names.plain(name)
    called: dict[str, dict[str, None]] = {}
    for key in every:
        called.setdefault(key.partition(".")[2], {})[key] = None
    elsewhere = other_names.meant(name)
    others = [*called.get(name, ())] or [key for key in elsewhere if key in (*every, "data.name")][:1]
    if near and not (others or elsewhere or name in other_names.ABSENT):
        others = [key for other in difflib.get_close_matches(name, called, 1) for key in called[other]]
    if others:
        words = " or ".join(key if value is None else f"{key}={other_names.valued(name, value)}" for key in others)
        raise UsageError(f"{path}: {what}; did you mean {words}?")
    if name in other_names.ABSENT:
        raise UsageError(f"{path}: {other_names.ABSENT[name]}")


def fitting(settings: Settings) -> None:
    """Refuse data that the system cannot read, before any of it is loaded."""
    both, dataset = Kinds.of(settings.system, settings.task), data.dataset(settings.dataset)
    wanted, got = (kind if isinstance(kind, tuple) else (kind,) for kind in (both.reader.INPUT, dataset.INPUT))
    if not {*wanted} & {*got}:
        others = [name for name in data.names() if name != both.own and {*wanted} & {*_types(name)}]
        example = f"{data.dataset(both.own).OWN}, or a set such as data.name={next(iter(others), both.own)}"
        expected = " or ".join(kind.__name__.lower().replace("str", "text") for kind in wanted)
        raise UsageError(f"{settings.system}: expected examples of {expected} ({example}), got data.name={settings.dataset}")
    if getattr(settings.model, "embeddings", "") == "one" and not getattr(settings.writer, "share_tokenizer", True):
        fix = "set writer.share_tokenizer=true, or model.embeddings=output"
        raise UsageError(f"model.embeddings=one: expected one tokenizer for inputs and targets, got two; {fix}")
    _require_class_token(settings)


def _require_class_token(settings: Settings) -> None:
    """Refuse a class token where the system does not look for it: typed, or taken over from a start of another system."""
    last = systems.defaults(settings.system, settings.task).get("reader", {}).get("class_last", False)
    if getattr(settings.reader, "class_last", last) != last:
        place = "last" if last else "first"
        own = str(last).lower()
        raise UsageError(f"reader.class_last: {settings.system} reads the class token {place}; set reader.class_last={own}")


def _types(name: str) -> tuple[type, ...]:
    kind = data.dataset(name).INPUT
    return kind if isinstance(kind, tuple) else (kind,)
