"""Several processes make the steps that one makes: DDP, FSDP2 and tensor parallelism, with real processes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import saccade
from saccade import processes
from saccade.cli.main import run as run_command
from saccade.errors import UsageError
from saccade.new_run import settled
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.parallel import Layout, Parallel, blocks, land, recompute
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from saccade.training.train_config import Config
from tests.systems import samples
from tests.training import small
from tests.training.many import ENDS, environment, killed, losses, trained
from tests.training.one import group, split
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
    "sets": small.expansion,
    "continuations": small.windows,
    "hidden words": small.hidden,
    "words in any order": small.permuted,
    "labels of words": small.tags,
    "answers": small.answers,
    "texts": lambda folder: tiny_transformer(),
}
SPLIT = ("texts", "continuations")  # whose model can be split by tensor parallelism
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
        ways = LAYOUTS if name in SPLIT else {"ddp": {}}
        jobs += [{"out": str(folder / f"{name}-{way}"), "table": table(settings, **keys)} for way, keys in ways.items()]
        for job in jobs:
            job["in_parts"] = job["table"]["train"].get("shard", False)
        if name == "sets":  # other words are drawn by chance for every batch
            jobs[-1]["same_chance"] = True
    jobs += begun(folder)
    for answers in trained(folder, jobs):
        assert answers == ["", ""]
    return folder


def begun(folder: Path) -> list[dict[str, Any]]:
    """Trainings that begin with another, with some of its parameters frozen and lower layers slower."""
    keys = {"freeze": "*.key_map.*, encoder.0.*", "layer_decay": 0.5}
    made = {name: {**table(tiny_transformer(), **keys, **way)} for name, way in {"alone": {}, **LAYOUTS}.items()}
    for one in made.values():
        one["start"] = str(folder / "texts-alone")
    settings, start = settled(made["alone"], [], folder / "begun-alone", resume=False)
    train(folder / "begun-alone", settings, Quiet(), start=start)
    return [{"out": str(folder / f"begun-{way}"), "table": made[way], "other_start": 1} for way in LAYOUTS]


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_two_processes_make_the_steps_of_one(runs: Path, name: str) -> None:
    ways = LAYOUTS if name in SPLIT else ["ddp"]
    alone = losses(runs / f"{name}-alone")
    for way in ways:
        together = losses(runs / f"{name}-{way}")
        assert len(together) == len(alone) == STEPS["steps"]
        assert together == pytest.approx(alone, rel=1e-6, abs=1e-6), way
        assert valid(runs / f"{name}-{way}") == pytest.approx(valid(runs / f"{name}-alone"), rel=1e-5, abs=1e-5), way


def valid(run: Path) -> list[float]:
    """The scores of the validations, which also see the running means of batch norms."""
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [score for line in lines if line["event"] == "valid" for score in line["scores"]["all"].values()]


@pytest.mark.long
@pytest.mark.parametrize("way", LAYOUTS)
def test_two_processes_go_on_with_what_the_first_has_begun_with(runs: Path, way: str) -> None:
    """The second was given other parameters; what is frozen stays as it was."""
    assert losses(runs / f"begun-{way}") == pytest.approx(losses(runs / "begun-alone"), rel=1e-6, abs=1e-6)
    before = saccade.load(runs / "texts-alone").module.state_dict()
    last, alone = (
        saccade.load(runs / name, checkpoint="last").module.state_dict() for name in (f"begun-{way}", "begun-alone")
    )
    kept = {name for name in before if torch.equal(last[name], before[name])}
    assert kept == {name for name in before if "key_map" in name or name.startswith("encoder.0.")}
    assert all(torch.allclose(last[name], alone[name], atol=1e-5) for name in before)


@pytest.mark.long
def test_one_process_predicts_and_evaluates_what_two_have_written(runs: Path) -> None:
    model = saccade.load(runs / "texts-sharded", checkpoint="last")
    alone = saccade.load(runs / "texts-alone", checkpoint="last")
    texts = [example.input for example in alone.run.splits().test[:5]]
    assert [one.text for one in model.predict(texts)] == [one.text for one in alone.predict(texts)]
    scores = [one.evaluate(split="test")["all"]["loss"] for one in (model, alone)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)


@pytest.mark.long
def test_lines_are_shared_out_and_keep_their_order(runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = str(runs / "texts-sharded")
    texts = [example.input for example in Run.open(Path(run)).splits().test[:6]]
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in [*texts[:2], "", *texts[2:]]))
    commands = [["predict", run, str(tmp_path / "lines.txt"), "--scores"], ["evaluate", run, "--json", "--split", "test"]]
    alone = []
    for command in commands:
        assert run_command(command) == 0
        alone.append(capfd.readouterr().out)
    jobs = [{"out": str(tmp_path / f"said-{number}"), "command": command} for number, command in enumerate(commands)]
    predicted, evaluated = trained(tmp_path, jobs)
    assert predicted == [alone[0], ""]
    assert len(alone[0].splitlines()) == 7
    assert evaluated[1] == ""
    own, together = json.loads(alone[1])["scores"]["all"], json.loads(evaluated[0])["scores"]["all"]
    assert together == pytest.approx(own, rel=1e-5)


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


KILLS = [
    {"rank": 0, "call": "saccade.training.trainer:Trainer._move", "number": 2},  # before the first checkpoint
    {"rank": 1, "call": "saccade.training.trainer:Trainer._backward", "number": 6},
    {"rank": 1, "call": "saccade.task:Task.evaluate", "number": 1},  # in a validation
    {"rank": 0, "call": "saccade.durable_files:replace", "number": 2},  # a checkpoint is there, and not yet named
    {"rank": 1, "call": "saccade.training.shared_checkpoints:random_tensors", "number": 2},  # a save begins
    {"rank": 0, "call": "saccade.durable_files:create", "number": 1},  # a save is half made
]


@pytest.mark.long
def test_resumed_is_uninterrupted_bit_for_bit(tmp_path: Path) -> None:
    """Killed at six points, one after the other, and interrupted at a seventh."""
    jobs: list[dict[str, Any]] = []
    for way in ("ddp", "sharded"):
        chance = json.loads(json.dumps(tiny_transformer().table()))
        chance["train"] |= LAYOUTS[way]
        jobs.append({"out": str(tmp_path / way), "table": chance})
        out = {"out": str(tmp_path / f"{way}-killed"), "table": chance}
        jobs += [{**out, "resume": number > 0, "kill": point} for number, point in enumerate(KILLS)]
        jobs += [{**out, "resume": True, "stop_at": 11}, {**out, "resume": True}]
    for job, both in zip(jobs, killed(tmp_path, jobs), strict=True):
        if "kill" in job:
            assert both == ["killed", "killed"], job["kill"]
        else:
            assert [one.split(":")[0] for one in both] == ["Interrupted" if "stop_at" in job else ""] * 2, both
    for way in ("ddp", "sharded"):
        assert _timeless(tmp_path / f"{way}-killed") == _timeless(tmp_path / way), way


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


def test_a_model_without_numbers_lands_with_those_of_the_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tied stays tied, what is frozen stays so, and what is split already is left alone."""

    def numbered(tensor: torch.Tensor, rank: int) -> None:
        assert rank == 0
        tensor.copy_(torch.arange(tensor.numel()).view(tensor.shape))

    monkeypatch.setattr(torch.distributed, "broadcast", numbered)
    with torch.device("meta"):
        model: Any = nn.ModuleDict(
            {"one": nn.Linear(2, 3, bias=False), "other": nn.Linear(2, 3, bias=False), "norm": nn.BatchNorm1d(3)}
        )
    model["other"].weight = model["one"].weight.requires_grad_(False)
    land(model.named_buffers(), torch.device("cpu"))
    assert model["norm"].running_mean.tolist() == [0, 1, 2]
    assert model["norm"].weight.is_meta
    land(model.named_parameters(), torch.device("cpu"))
    assert model["one"].weight is model["other"].weight
    assert model["one"].weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert not model["one"].weight.requires_grad
    assert isinstance(model["norm"].weight, nn.Parameter)
    assert model["norm"].weight.requires_grad
    with group() as mesh:
        land([("split", split(torch.ones(2, 2), mesh))], torch.device("cpu"))


def test_each_process_draws_its_own_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same one every time; those who split a model draw the same."""
    parallel = Parallel(samples.model("transformer"), Config())

    def drawn(rank: int, layout: Layout) -> list[float]:
        monkeypatch.setattr(processes, "rank", lambda: rank)
        torch.manual_seed(3)
        parallel.layout = layout
        parallel.seed(3)
        return torch.rand(4).tolist()

    apart = [drawn(rank, Layout(4, 1)) for rank in (0, 1, 2, 3, 0, 1, 2, 3)]
    assert apart[:4] == apart[4:]
    assert len({tuple(one) for one in apart}) == 4
    assert apart[0] == torch.rand(4, generator=torch.Generator().manual_seed(3)).tolist()  # as alone
    split = [drawn(rank, Layout(2, 2)) for rank in range(4)]
    assert split[0] == split[1] != split[2] == split[3]


@pytest.mark.long
def test_a_compiled_model_makes_the_same_steps_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.training.compiled", str(tmp_path)]
    subprocess.run(command, env=environment(), check=True, timeout=ENDS)
    assert losses(tmp_path / "compiled") == pytest.approx(losses(tmp_path / "plain"), rel=1e-5)
    assert contents(tmp_path / "again") == contents(tmp_path / "compiled")


def test_a_model_is_compiled_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def compiled(model: nn.Module, **options: Any) -> nn.Module:
        given.append(options)
        return model

    monkeypatch.setattr(torch, "compile", compiled)
    model = samples.model("transformer")
    assert Parallel(model, Config(compile=True)).forward is model
    assert given == [{"dynamic": True}]
    Parallel(model, Config())
    assert len(given) == 1
