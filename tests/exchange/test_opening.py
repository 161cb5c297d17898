"""`saccade.load` of a directory in Hugging Face's layout gives what the run made of it gives, and writes nothing."""

from pathlib import Path
from typing import Any

import pytest
import torch

import saccade
from saccade.errors import DataError, UsageError
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model

from ..cli.commands import here
from .models import SOURCES, change

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with


def test_a_published_directory_is_a_model(opus: Path, tmp_path: Path) -> None:
    before = sorted(opus.iterdir())
    import_model(opus, tmp_path / "run")
    model, run = saccade.load(opus), saccade.load(tmp_path / "run")
    assert repr(model) == f"<saccade transformer of {opus}>"
    assert [one.text for one in model.predict(SOURCES)] == [one.text for one in run.predict(SOURCES)]
    best = model.predict(SOURCES[0], beam=3, method="beam")
    assert (best.text, best.log_prob) == (run.predict(SOURCES[0], beam=3, method="beam").text, best.log_prob)
    assert "".join(model.stream(SOURCES[2])) == model.predict(SOURCES[2]).text
    pairs = [(text, "w1 w2") for text in SOURCES]
    assert model.evaluate(data=pairs).scores == run.evaluate(data=pairs).scores
    scene = model.look(SOURCES[0]).trace.scenes[0]
    assert (scene.looks[0].weights == run.look(SOURCES[0]).trace.scenes[0].looks[0].weights).all()
    assert sorted(opus.iterdir()) == before


def test_what_a_published_model_does_not_have_is_told(opus: Path) -> None:
    with pytest.raises(DataError, match="has no data of its own; give data"):
        saccade.load(opus).evaluate()
    with pytest.raises(UsageError, match=r"has no checkpoints, got 'last'; leave it out"):
        saccade.load(opus, "last")


def test_the_command_line_opens_it_as_well(opus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.txt").write_text("\n".join(SOURCES) + "\n")
    answer = here(["predict", str(opus), str(tmp_path / "in.txt")], capsys)
    assert (answer.code, answer.out.splitlines()) == (0, [one.text for one in saccade.load(opus).predict(SOURCES)])


def test_unknown_families_are_refused_with_those_that_are_known(opus: Path, tmp_path: Path) -> None:
    change(opus / "config.json", model_type="bart")
    with pytest.raises(
        DataError, match=r"config\.json: expected model_type one of bert, gpt2, marian, roberta, xlnet, got 'bart'"
    ):
        saccade.load(opus)
    with pytest.raises(DataError, match=r"not a run \(it has no config\.toml\)"):
        saccade.load(tmp_path / "nowhere")


@pytest.mark.parametrize(("given", "got"), [(5, "5"), (None, "None"), ("", "an empty text"), (["run"], "['run']")])
def test_what_is_no_directory_is_told(given: Any, got: str) -> None:
    with pytest.raises(UsageError) as error:
        saccade.load(given)
    assert str(error.value) == f"load: expected the directory of a run or of a published model, got {got}"


def test_a_training_begins_with_a_published_directory(opus: Path, tmp_path: Path) -> None:
    """With its parameters, tokens and sizes, of the directory or of the run that was made of it; and can be exported."""
    pairs = [(text, " ".join(text.split()[::-1])) for text in SOURCES]
    import_model(opus, tmp_path / "imported")
    given: dict[str, Any] = {"steps": 2, "learning_rate": 1e-30, "threads": 1, "quiet": True}
    theirs = saccade.load(opus)
    for start in (opus, tmp_path / "imported"):
        model = saccade.train("transformer", pairs, tmp_path / f"from {start.name}", start=start, **given)
        own, before = model.module.state_dict(), theirs.module.state_dict()
        assert all(torch.allclose(own[name], before[name], rtol=0, atol=1e-25) for name in before)
        settings, known = model.run.settings, theirs.run.settings
        assert (settings.model, settings.reader, settings.tokens) == (known.model, known.reader, known.tokens)
        assert [one.text for one in model.predict(SOURCES)] == [one.text for one in theirs.predict(SOURCES)]
        export(model, tmp_path / f"out {start.name}", "marian")
        back = saccade.load(tmp_path / f"out {start.name}")
        assert [one.text for one in back.predict(SOURCES)] == [one.text for one in model.predict(SOURCES)]
    with pytest.raises(UsageError, match=r"tokens\.size: has no effect with start="):
        saccade.train("transformer", pairs, tmp_path / "run", start=opus, tokens={"size": 50}, **given)
