"""Several processes make the steps that one makes: DDP, FSDP2 and tensor parallelism, with real processes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from saccade.errors import UsageError
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.parallel import Layout, Parallel, blocks, recompute
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from saccade.training.train_config import Config
from tests.systems import samples
from tests.training import small
from tests.training.many import losses, trained
from tests.training.runs import contents, tiny_transformer

STEPS = {"steps": 20, "valid_every": 10, "save_every": 10, "learning_rate": 1e-3, "log_every": 1}
CHANCE = {"flip", "max_shift", "dropout", "word_dropout", "letter_dropout", "attention_dropout", "activation_dropout"}
KINDS: dict[str, Callable[[Path], Settings]] = {
    "words": small.sentences,
    "aspects": small.aspects,
    "documents": small.documents,
    "nodes": small.graph,
    "bags": small.bags,
    "pictures": small.pictures,
    "captions": small.captions,
    "numbers": small.numbers,
    "items": small.outlier,
    "continuations": small.windows,
    "texts": lambda folder: tiny_transformer(),
}
LAYOUTS: dict[str, dict[str, Any]] = {"ddp": {}, "sharded": {"shard": True}, "tensor": {"tensor_parallel": 2}}


def table(settings: Settings, **keys: Any) -> dict[str, Any]:
    """The settings without chance, for twenty steps."""
    made: dict[str, Any] = json.loads(json.dumps(settings.table()))
    made["model"] |= dict.fromkeys(CHANCE & made["model"].keys(), 0)
    made["train"] |= STEPS | keys
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of input and output trained by one process, and by two in each way that it can be."""
    folder = tmp_path_factory.mktemp("many")
    jobs: list[dict[str, Any]] = []
    for name, make in KINDS.items():
        (folder / name).mkdir()
        settings = make(folder / name)
        train(folder / f"{name}-alone", resolve(table(settings)), Quiet())
        ways = LAYOUTS if name in ("texts", "continuations") else {"ddp": {}}
        jobs += [{"out": str(folder / f"{name}-{way}"), "table": table(settings, **keys)} for way, keys in ways.items()]
    for answers in trained(folder, jobs):
        assert answers == ["", ""]
    return folder


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_two_processes_make_the_steps_of_one(runs: Path, name: str) -> None:
    ways = LAYOUTS if name in ("texts", "continuations") else ["ddp"]
    alone = losses(runs / f"{name}-alone")
    for way in ways:
        together = losses(runs / f"{name}-{way}")
        assert len(together) == len(alone) == STEPS["steps"]
        assert together == pytest.approx(alone, rel=1e-6, abs=1e-6), way


@pytest.mark.long
@pytest.mark.parametrize("name", ["texts", "continuations"])
def test_one_process_opens_what_two_have_written(runs: Path, name: str) -> None:
    models = {}
    for way in ("alone", *LAYOUTS):
        run = Run.open(runs / f"{name}-{way}")
        model, checkpoint = run.model(run.task(), "last")
        assert checkpoint.step == STEPS["steps"]
        models[way] = model.state_dict()
    for way in LAYOUTS:
        for key, value in models["alone"].items():
            # The bias of keys moves no weight of a softmax: its gradient is rounding, which Adam makes steps of.
            assert key.endswith("key_map.bias") or torch.allclose(value, models[way][key], atol=1e-5), (way, key)
    parts = list((runs / f"{name}-sharded" / "checkpoints").glob("step-*/shard-*"))
    assert {part.name.split("-")[1] for part in parts} == {"00001", "00002"}  # each has written its own


@pytest.mark.long
def test_a_damaged_part_is_found(runs: Path) -> None:
    part = sorted((runs / "texts-sharded" / "checkpoints" / "step-00000020").glob("shard-*"))[-1]
    whole = part.read_bytes()
    try:
        part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        run = Run.open(runs / "texts-sharded")
        assert [line for line in run.checkpoints.load("last").passed_over if part.name in line]
    finally:
        part.write_bytes(whole)


@pytest.mark.long
def test_resumed_is_uninterrupted_bit_for_bit(tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = []
    points: dict[str, tuple[int, ...]] = {"ddp": (1, 4, 5, 8, 11, 12), "sharded": (6, 11)}
    for way, stops in points.items():
        chance = json.loads(json.dumps(tiny_transformer().table()))
        chance["train"] |= LAYOUTS[way]
        jobs.append({"out": str(tmp_path / way), "table": chance})
        for stop in stops:
            out = {"out": str(tmp_path / f"{way}-{stop}"), "table": chance}
            jobs += [{**out, "stop_at": stop}, {**out, "resume": True}]
    answers = trained(tmp_path, jobs)
    assert all("Interrupted" in one for job, both in zip(jobs, answers, strict=True) for one in both if "stop_at" in job)
    assert not any(one for job, both in zip(jobs, answers, strict=True) for one in both if "stop_at" not in job)
    for way, stops in points.items():
        expected = _timeless(tmp_path / way)
        for stop in stops:
            assert _timeless(tmp_path / f"{way}-{stop}") == expected, (way, stop)


def _timeless(run: Path) -> dict[str, str]:
    found = {name: one for name, one in contents(run).items() if not name.startswith("shard-")}
    # The order of tensors in a part may differ, their bits may not.
    tensors = Checkpoints(run).load("last").tensors
    found |= {f"{group}/{name}": one.numpy().tobytes().hex() for group in tensors for name, one in tensors[group].items()}
    lines = [{key: value for key, value in line.items() if key != "ranks"} for line in json.loads(found["log"])]
    return {**found, "log": json.dumps(lines)}


@pytest.mark.long
def test_another_number_of_processes_goes_on_with_the_same_steps(tmp_path: Path) -> None:
    made = table(tiny_transformer(), schedule="constant", warmup=0)
    half = {**made, "train": {**made["train"], "steps": 10}}
    train(tmp_path / "whole", resolve(made), Quiet())
    train(tmp_path / "one-two", resolve(half), Quiet())
    shared = {**made, "train": {**made["train"], "shard": True}}
    jobs: list[dict[str, Any]] = [
        {"out": str(tmp_path / "one-two"), "table": shared, "resume": True},
        {"out": str(tmp_path / "two-one"), "table": {**half, "train": {**half["train"], "shard": True}}},
    ]
    assert trained(tmp_path, jobs) == [["", ""]] * 2
    train(tmp_path / "two-one", resolve(made), Quiet(), resume=True)
    expected = losses(tmp_path / "whole")
    for name in ("one-two", "two-one"):
        assert losses(tmp_path / name) == pytest.approx(expected, rel=1e-6, abs=1e-6), name


def test_settings_of_many_are_refused_on_one() -> None:
    with pytest.raises(UsageError, match=r"train\.shard: has no effect on one process"):
        Layout.of(Config(shard=True))
    with pytest.raises(UsageError, match=r"train\.tensor_parallel: expected a divisor of the number of processes"):
        Layout.of(Config(tensor_parallel=2))


@pytest.mark.parametrize("system", ["transformer", "gpt2"])
def test_recomputing_gives_the_same_bits(system: str, tmp_path: Path) -> None:
    settings = tiny_transformer() if system == "transformer" else small.windows(tmp_path)
    made: dict[str, Any] = json.loads(json.dumps(settings.table()))
    for name in ("kept", "recomputed"):
        made["train"] |= {"recompute": name == "recomputed"}
        train(tmp_path / name, resolve(made), Quiet())
    assert losses(tmp_path / "kept") == losses(tmp_path / "recomputed")


def test_recomputing_needs_blocks() -> None:
    with pytest.raises(UsageError, match=r"train\.recompute: has no effect"):
        recompute(nn.Linear(2, 2))


def test_blocks_are_the_layers_of_lists() -> None:
    model = samples.model("transformer")
    assert blocks(model) == [*model.encoder, *model.decoder]


def test_alone_the_model_is_called_itself() -> None:
    model: Any = samples.model("transformer")
    parallel = Parallel(model, Config())
    assert parallel.forward is model
    with parallel.whole() as whole:
        assert whole is model
    assert parallel.finite()
    with torch.no_grad():
        model.get_parameter("output.weight")[0, 0] = float("nan")
    assert not parallel.finite()
