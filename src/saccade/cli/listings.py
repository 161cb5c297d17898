"""What the verbs do that only tell: systems, recipes, settings, data, and this machine."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import saccade
from saccade import config as configs
from saccade import recipes as all_recipes
from saccade import systems as all_systems
from saccade.cli import streams
from saccade.data import known
from saccade.errors import DataError, UsageError
from saccade.inputs import amount
from saccade.view.output.display_text import visible

SECTIONS = {
    "model": "The model: sizes, attention, dropout.",
    "data": "The data set, or files of your own.",
    "tokens": "How text becomes tokens.",
    "reader": "How inputs are read.",
    "writer": "How targets are read, what is optimized, and which metric chooses the best checkpoint.",
    "train": "Training: length, batches, optimizer, learning rate, validation, checkpoints, device.",
    "search": "How outputs are searched for once the model is trained.",
}
# What most users change, in this order.
MOST_USED = """
data.train data.nodes train.steps train.epochs train.batch_size train.batch_tokens train.learning_rate train.warmup
train.schedule train.patience train.seed train.device model.hidden_size model.num_layers model.encoder_layers model.dropout
tokens.kind tokens.size reader.vectors writer.label_smoothing search.method search.beam search.max_length
"""


def systems(*, machine: bool) -> None:
    """All systems, as the sentence each of them is."""
    entries = [all_systems.sentence(name) for name in all_systems.names()]
    if machine:
        print(json.dumps(entries))
    for entry in entries if not machine else []:
        print(entry["name"])
        for key in ("paper", "reads", "attends", "writes", "reader", "writer"):
            print(f"  {key:8} {entry.get(key, '')}")


def recipes(*, machine: bool) -> None:
    """All recipes."""
    entries = []
    for name in all_recipes.names():
        table = all_recipes.load(name)
        entries.append({"name": name, "system": table["system"], "data": table["data"]["name"], "about": table["about"]})
    if machine:
        print(json.dumps(entries))
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries if not machine else []:
        print(f"{entry['name']:{width}} {entry['system']} on {entry['data']}: {entry['about']}")


def tables(*, machine: bool) -> None:
    """All tables of models that are compared like with like."""
    entries = []
    for name in all_recipes.tables():
        table = all_recipes.table(name)
        entries.append({"name": name, "rows": len(table["row"]), "about": table["about"]})
    if machine:
        print(json.dumps(entries))
    for entry in entries if not machine else []:
        print(f"{entry['name']} ({entry['rows']} rows): {entry['about']}")


def config(name: str, words: Sequence[str], *, machine: bool) -> None:
    """The resolved settings by section, as TOML: comments say what each key means, which values it takes and its default."""
    from saccade.training.settings import base, kinds, resolve, start_of

    run = Path(name) / "config.toml"
    table = configs.read(run) if run.is_file() else base(name)
    opened = start_of(table, words) and not run.is_file()  # of a run all is in its config
    settings = _settled(name, table, words) if opened else resolve(table, words)
    table = settings.table()
    if machine:
        print(json.dumps(table))
        return
    streams.as_utf8()
    for line in _heading(name, settings, table):
        print(f"# {line}")
    print(f'system = "{settings.system}"')
    if settings.task:
        print(f'task = "{settings.task}"')
    if settings.start:
        print(f"start = {configs.word(settings.start)}  # its parameters and tokens are what training begins with")
    bare = resolve({"system": settings.system, "task": settings.task, "data": {"name": settings.dataset}}).table()
    for section, kind in kinds(settings.system, settings.dataset, settings.task).items():
        print(f"\n# {SECTIONS[section]}\n[{section}]")
        if section == "data":
            print(f'name = "{settings.dataset}"')
        most = [key.partition(".")[2] for key in MOST_USED.split() if key.startswith(section)]
        rows = sorted(configs.described(kind), key=lambda row: most.index(row[0]) if row[0] in most else len(most))
        split = sum(row[0] in most for row in rows) % max(len(rows), 1)
        for number, (field, kind_of_values, _, line) in enumerate(rows):
            values = " | ".join(_catalog(field)) or kind_of_values
            if number == split > 0:
                print("# Less often:")
            value, default = table[section][field], bare[section][field]
            remark = "default" if value == default else f"default: {configs.word(default)}"
            print(f"# {line}\n{field} = {configs.word(value)}  # {_idle(settings, section, field) or values}; {remark}")


def _catalog(field: str) -> Sequence[str]:
    """The names that a setting takes whose values are registered."""
    from saccade.attention import NORMALIZERS, SCORES

    registered: Mapping[str, Mapping[str, Any]] = {"score": SCORES, "normalize": NORMALIZERS}
    return list(registered.get(field, ()))


def _settled(name: str, table: Mapping[str, Any], words: Sequence[str]) -> Any:
    """The settings of a training that begins with another model, which must be opened for them."""
    from saccade.new_run import settled

    return settled(table, words, Path(name), resume=False)[0]


def _heading(name: str, settings: Any, table: Mapping[str, Any]) -> list[str]:
    """What to know before the settings: how to change them, the most used, presets, and exports."""
    from saccade.exchange import exporting

    places = [key.split(".") for key in MOST_USED.split()]
    used = [
        f"{section}.{key}={table[section][key]}"
        for section, key in places
        if table.get(section, {}).get(key) and not _idle(settings, section, key)
    ]
    module = all_systems.load(settings.system)
    presets, tasks = getattr(module, "PRESETS", {}), getattr(module, "TASKS", {})
    return [
        f"change any of these: saccade train {name} train.steps=500; or save this as my.toml: saccade train my.toml",
        f"most used: {' '.join(used)}",
        *([f"tasks: task={' | '.join(tasks)}"] if tasks else []),
        *([f"presets: model.preset={' | '.join(presets)}"] if presets else []),
        f"exports (saccade export RUN DIR --format …): {'; '.join(exporting.report(settings))}",
    ]


def _idle(settings: Any, section: str, key: str) -> str:
    """Why a key has no effect beside the others, if it has none."""
    try:
        getattr(getattr(settings, section), "heed", lambda keys: None)([key])
    except UsageError as error:
        return str(error).partition(": ")[2].partition(";")[0]
    return ""


def data(data_dir: str | None, *, machine: bool) -> None:
    """Known data sets and where they lie."""
    directory = known.data_directory(data_dir)
    rows = known.table(directory)
    if machine:
        print(json.dumps({"directory": str(directory), "data": rows}))
        return
    print(f"data directory: {visible(str(directory))}")
    for row in rows:
        print(f"{row['name']:18} {row['status']:11} {row['size']:>9}  {row['licence']}")
        for line in filter(None, [row["about"], row["address"], *_expected(row)]):
            print(f"{'':18} {visible(line)}")
    print("all files of one: saccade data show NAME; to download it: saccade data get NAME")


def _expected(row: Mapping[str, Any]) -> list[str]:
    """Where its files belong, which they are, and which of them are not there or not what they must be."""
    if not row["files"]:
        return []
    count = f"{len(row['files'])} files" if len(row["files"]) > 1 else "1 file"
    wrong = {key: row[key] for key in ("missing", "damaged") if row[key]}
    problems = [f"{key}: {'all' if files == row['files'] else known.named(files)}" for key, files in wrong.items()]
    return [f"{count} in {row['where']}: {known.named(row['files'])}", *problems]


def data_show(name: str, data_dir: str | None, *, machine: bool) -> None:
    """Every file of a data set: whether it is there, its size, and where it belongs."""
    item, directory = known.lookup(name), known.data_directory(data_dir)
    state = known.status(item, directory, verify=True)
    states = dict.fromkeys(state.missing, "missing") | dict.fromkeys(state.damaged, "damaged")
    rows: list[dict[str, Any]] = [
        {
            "file": str(known.present(item, file, directory) or known.place(item, file, directory)),
            "status": states.get(file.path, "here"),
            "bytes": file.bytes,
            "sha256": file.sha256,
            "addresses": list(file.addresses),
        }
        for file in item.files
    ]
    if machine:
        print(json.dumps({"name": name, "licence": item.licence, "address": item.address, "note": item.note, "files": rows}))
        return
    print(f"{name}: {item.about}\nlicence: {item.licence}\naddress: {item.address or 'none is known'}")
    print("generated when it is needed: no files" if item.generated else f"note: {item.note or 'none'}")
    from saccade.data.fetching import host_of

    hosts = dict.fromkeys(host_of(address) for file in item.files for address in file.addresses)
    if not item.generated:
        print(f"downloads from: {', '.join(hosts) or 'no public address'}")
    for row in rows:
        print(f"{row['status']:8} {amount(row['bytes']):>9}  {visible(row['file'])}")


def data_get(name: str, data_dir: str | None) -> None:
    """Fetch a data set."""
    from saccade.cli import downloads

    item, directory = known.lookup(name), known.data_directory(data_dir)
    if item.generated:
        print(f"{name} is generated when it is needed: there is nothing to download")
        return
    by_hand = [file for file in item.files if not file.addresses]
    paths = downloads.get(item, directory)
    lacking = known.wanted(replace(item, files=tuple(by_hand)), directory)
    line = f"{name}: {known.way_to(item, lacking, directory)}"
    if lacking and len(by_hand) == len(item.files):
        raise DataError(line)
    print("\n".join(str(path) for path in paths) or f"{name}: nothing to download; it is in {directory}")
    if lacking:
        print(visible(line), file=sys.stderr)


def doctor(data_dir: str | None, *, machine: bool) -> None:
    """What saccade finds on this machine, and what to do about what it does not find."""
    facts = examine(data_dir)
    if machine:
        print(json.dumps(facts))
    for key, value in facts.items() if not machine else ():
        print(f"{key:16} {value}")


def examine(data_dir: str | None) -> Mapping[str, Any]:
    """The facts, each a short text or a number."""
    import torch

    from saccade.kernels import additive_scores, kernels_on

    ones = torch.ones(1, 1, 1)
    exact = abs(float(additive_scores(ones, ones, torch.ones(1))) - float(torch.tanh(torch.tensor(2.0)))) < 1e-6
    directory = known.data_directory(data_dir)
    here = [row["name"] for row in known.table(directory) if row["status"] == "here"]
    return {
        "saccade": saccade.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "kernels": ("compiled, correct" if exact else "compiled, WRONG: set SACCADE_KERNELS=off") if kernels_on(ones)
        else "off: plain torch answers (slower); install numba, or unset SACCADE_KERNELS",
        "data directory": f"{directory} ({len(here) or 'no'} data sets here; see: saccade data)",
        "free disk": f"{shutil.disk_usage(Path.cwd()).free / 2**30:.1f} GB in {Path.cwd()}",
        "terminal": f"{shutil.get_terminal_size().columns} columns, {'color' if sys.stdout.isatty() else 'no color'}",
    }  # fmt: skip
