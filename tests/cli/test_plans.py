"""`saccade models` and `saccade plan`: tables for people, JSON for machines, errors of one line, and no torch by name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from saccade.planning import trial_steps

from .commands import here

MEGATRON = "plan megatron-8.3b --devices 512xV100 --tokens 157e9"


def test_by_name_torch_is_not_imported() -> None:
    code = "import sys; from saccade.cli.main import run; "
    for command in ("['models']", str(MEGATRON.split())):
        ended = subprocess.run(
            [sys.executable, "-c", f"{code}print(run({command}), 'torch' in sys.modules)"], capture_output=True
        )
        assert ended.stdout.decode().splitlines()[-1] == "0 False", ended.stderr


def test_models(capsys: pytest.CaptureFixture[str]) -> None:
    told = here("models", capsys).out
    assert "gpt2-small            12    768  12 (?)    124,439,808     117M  40 GB   –\n" in told
    assert "  gpt2-small        GPT-2: the paper's miscount" in told
    assert max(map(len, told.splitlines()[:15])) < 120
    rows = json.loads(here("models --json", capsys).out)
    assert len(rows) == 14
    assert rows[-1]["parameters"] == 8_317_040_640


def test_what_is_documented_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """All but what is measured, for which there may be no data."""
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
    typed = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("saccade plan ")]
    found = [words for words in typed if "--devices" in words or words[2].startswith("megatron")]
    assert len(found) >= 4
    for words in found:
        answer = here(words[1:], capsys)
        assert (answer.code, answer.err) == (0, ""), words
        assert "\n  layout " in answer.out


def test_a_published_training(capsys: pytest.CaptureFixture[str]) -> None:
    told = here(MEGATRON, capsys).out
    for line in (
        "megatron-8.3b on 512 × V100-32GB, mixed\n",
        "  model FLOPs     8.26e21\n",
        "  hardware FLOPs  1.10e22 (33% more: activations are recomputed)\n",
        "  layout          64-way data × 8-way tensor parallel, activations recomputed, 8 sequences at a time\n",
        "  time            8.4 days (7.3 – 9.7 days)\n",
        "  as printed      9.0 days, $431,475\n",
        "\nassumed\n  batch 512, as published\n",
    ):
        assert line in told
    table = json.loads(here(f"{MEGATRON} --json", capsys).out)
    assert table["printed"] == pytest.approx({"days": 9, "dollars": 431_474.7}, rel=1e-6)
    assert json.loads(here("plan Megatron-8.3B --json", capsys).out)["tokens"] == 300e3 * 512 * 1024


def test_options_change_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[V100-32GB]\ndollars_per_hour = 1.0\n")
    base = json.loads(here(f"{MEGATRON} --json", capsys).out)

    def other(options: str) -> dict[str, object]:
        table: dict[str, object] = json.loads(here(f"{MEGATRON} --json {options}", capsys).out)
        return table

    assert other("--price 1")["dollars"] == other(f"--prices {tmp_path / 'mine.toml'}")["dollars"] != base["dollars"]
    assert other("--context 512")["context"] == 512
    assert other("--batch 1024")["steps"] == pytest.approx(base["steps"] / 2, abs=1)
    assert other("--recompute auto")["layout"] == base["layout"]
    assert other("--precision float32")["precision"] == "float32"
    assert other("--tokens '300k steps'")["printed"] == base["printed"]
    assert other("--tokens 300B")["printed"] is None
    kept = json.loads(here("plan megatron-8.3b --devices 512xA100 --recompute off --json", capsys).out)
    assert kept["layout"]["recompute"] is False
    assert "no price is known" in here(f"{MEGATRON} --prices {_empty(tmp_path)}", capsys).out


def _empty(folder: Path) -> Path:
    (folder / "none.toml").write_text("")
    return folder / "none.toml"


def test_a_config_of_ones_own_on_other_devices(capsys: pytest.CaptureFixture[str]) -> None:
    table = json.loads(here("plan gpt2 model.preset=small train.batch_size=8 --devices 8xA100 --json", capsys).out)
    assert table["parameters"]["total"] == 124_439_808
    assert (table["batch"], table["context"], table["steps"]) == (8, 1024, 1500)
    assert "a vocabulary of 50,257" in table["assumed"]
    assert "texts of 64 tokens on each side" in here("plan transformer --devices V100", capsys).out


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("plan gpt2-xl", "nobody has published its devices; name some with --devices"),
        ("plan gpt2-xl --devices 8xA100", "nobody has published its tokens; say how many with --tokens"),
        ("plan gpt2-xl --devices 8xA100-90GB --tokens 3", "unknown device 'A100-90GB'; did you mean 'A100-80GB'?"),
        ("plan gpt2-xl --devices 8xV100 --tokens many", "tokens: expected a number such as 157e9"),
        ("plan gpt2-xl --devices 0xV100 --tokens 3", "devices: expected a number and a name"),
        ("plan gpt2-xl --devices V100 --tokens 3 --context 4096", "--context: expected at most 1,024"),
        ("plan megatron-8.3b --devices 8xP100", "take 8xV100-32GB"),
        ("plan megatron-8", "did you mean 'megatron-8.3b'?"),
        ("plan megatron-8.3b model.num_layers=3", "a published model, which has no settings"),
        ("plan gpt2 --tokens 3", "--tokens: has no effect without --devices"),
        ("plan gpt2-xl --recompute maybe", "unknown --recompute 'maybe'"),
        ("plan gpt2-xl --precision half", "unknown --precision 'half'"),
        ("plan bahdanau --devices V100", "expected a model by name, gpt2 or a transformer"),
        ("plan gpt2 train.epochs=3 --devices V100", "say how many with --tokens"),
    ],
)
def test_errors_are_one_line(command: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(command, capsys)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert told in answer.err


def test_a_run_is_measured(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_steps, "SECONDS", 0.0)
    before = sorted(place.rglob("*"))
    told = here("plan run", capsys).out
    assert told.startswith("run (bahdanau) on this machine, 1 CPU thread: measured\n")
    for word in ("FLOPs of a step", "MB activations; the process", "validations and checkpoints not included", "of a large"):
        assert word in told
    facts = json.loads(here("plan run --json", capsys).out)
    assert (facts["system"], facts["steps"], facts["threads"]) == ("bahdanau", 6, 1)
    assert sorted(place.rglob("*")) == before
    assert "planned with its own settings" in here("plan run train.steps=3", capsys).err


def test_a_recipe_is_measured_as_it_would_be_fitted(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_steps, "SECONDS", 0.0)
    words = "data.train=good.tsv data.valid=good.tsv train.epochs=2 train.batch_size=8 train.threads=1 --json"
    answer = here(f"plan transformer {words}", capsys)
    assert answer.code == 0, answer.err
    facts = json.loads(answer.out)
    assert facts["total_seconds"] == pytest.approx(facts["steps"] * facts["step_seconds"])
    assert facts["steps"] == 2 * 56 / 8
    assert not (place / "runs").exists()
