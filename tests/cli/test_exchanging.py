"""The verbs import and export, from the command line."""

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from ..exchange import encoder_models, gpt_models, models
from .commands import here

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with


def test_an_imported_run_can_be_used_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    monkeypatch.chdir(tmp_path)
    models.published(Path("opus"), seed=4)
    answer = here("import opus --out run", capsys)
    assert (answer.code, answer.out.splitlines()[0]) == (0, "done: run is opus"), answer.err
    Path("in.txt").write_text("\n".join([*models.SOURCES, "", "w1 " * 100]) + "\n")
    translated = here("translate run in.txt --beam 3", capsys)
    assert translated.code == 0, translated.err
    assert translated.out.count("\n") == len(models.SOURCES) + 2
    Path("pairs.tsv").write_text("".join(f"{text}\tw1 w2\n" for text in models.SOURCES))
    scored = here("evaluate run --data pairs.tsv", capsys)
    assert scored.code == 0, scored.err
    assert "BLEU" in scored.out
    looked = here(["look", "run", "w3 w4", "--out", "look.html"], capsys)
    assert looked.code == 0, looked.err
    again = here("import opus --out run", capsys)
    assert (again.code, "got one in use; choose another" in again.err) == (2, True)


@pytest.mark.parametrize(("kind", "module"), [("ct2", "ctranslate2"), ("onnx", "onnx")])
def test_a_missing_extra_is_told_with_its_remedy(
    kind: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models.run(tmp_path / "run")
    really = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == module:
            raise ImportError(name)
        return really(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setitem(sys.modules, module, None)
    answer = here(["export", str(tmp_path / "run"), str(tmp_path / "out"), "--format", kind], capsys)
    assert answer.code == 2
    assert f"format {kind} needs {module}, which is not installed; pip install 'saccade[{kind}]'" in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_export_says_what_it_wrote_and_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models.run(tmp_path / "run", final_norm="none", positions="sinusoidal_halves")
    command = ["export", str(tmp_path / "run"), str(tmp_path / "out"), "--format", "marian"]
    answer = here(command, capsys)
    assert answer.code == 0, answer.err
    assert "config.json" in answer.out
    assert "model.safetensors" in answer.out
    before = (tmp_path / "out" / "model.safetensors").read_bytes()
    again = here(command, capsys)
    assert (again.code, "expected a new or empty directory" in again.err) == (2, True)
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == before
    wrong = here([*command[:-1], "onx"], capsys)
    assert (wrong.code, "did you mean 'onnx'?" in wrong.err) == (2, True)
    none = here(["export", str(tmp_path), str(tmp_path / "other"), "--format", "ct2"], capsys)
    assert (none.code, "not a run" in none.err) == (3, True)
    missing = here(["import", str(tmp_path / "nowhere"), "--out", str(tmp_path / "new")], capsys)
    assert (missing.code, "name the directory of a published model" in missing.err) == (3, True)


def test_a_language_model_goes_in_and_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    monkeypatch.chdir(tmp_path)
    gpt_models.published(Path("small"))
    answer = here("import small --out run", capsys)
    assert (answer.code, "next: saccade generate run --prompt TEXT" in answer.out) == (0, True), answer.err
    assert here("export run out --format gpt2", capsys).code == 0
    written = [here(f"generate {path} --prompt 'to be' --max-length 9", capsys).out for path in ("small", "run", "out")]
    assert written[0].startswith("to be")
    assert written == written[:1] * 3
    refused = here("import out --out other --unsafe-bin", capsys)
    assert (refused.code, "expected pytorch_model.bin, got none; leave --unsafe-bin out" in refused.err) == (3, True)


@pytest.mark.parametrize(
    ("task", "told"), [("masked", "fill run TEXT"), ("label", "predict run FILE"), ("vector", "embed run FILE")]
)
def test_an_imported_encoder_says_what_it_can_do(
    task: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    monkeypatch.chdir(tmp_path)
    encoder_models.published("bert", Path("small"), task)
    answer = here("import small --out run", capsys)
    assert (answer.code, answer.out.splitlines()[1]) == (0, f"next: saccade {told}"), answer.err
