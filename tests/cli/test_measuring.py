"""The verb perplexity, from the command line."""

import json
from pathlib import Path

import pytest

from saccade.exchange.opening import load
from saccade.kernels.runtime import kernels_on

from ..exchange import gpt_models
from .commands import here


def test_a_text_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    model = gpt_models.run(Path("run"))
    Path("my.txt").write_text(gpt_models.TEXT * 4, encoding="utf-8")
    row = json.loads(here("perplexity run my.txt --stride 3 --json", capsys).out)
    found = load(Path("run")).perplexity(gpt_models.TEXT * 4, stride=3)
    assert row == {"model": "run", "file": "my.txt", **found.table()}
    assert row["tokens"] == len(model.task.reader.tokenizer.encode(gpt_models.TEXT * 4))
    shown = here("perplexity run my.txt", capsys)
    assert (shown.code, shown.out) == (0, f"{load(Path('run')).perplexity(Path('my.txt'))}\n")
    for words, code, told in (
        ("perplexity run none.txt", 3, "none.txt: cannot be read (No such file or directory)"),
        ("perplexity run my.txt --stride 99", 2, "stride: expected 1 to 24 (the context), got 99"),
    ):
        answer = here(words, capsys)
        assert (answer.code, answer.out, told in answer.err) == (code, "", True), answer.err


@pytest.mark.skipif(not kernels_on(), reason="kernels are off")
def test_what_rounded_weights_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gpt_models.run(Path("run"))
    Path("my.txt").write_text(gpt_models.TEXT * 4, encoding="utf-8")
    plain = json.loads(here("perplexity run my.txt --json", capsys).out)
    for precision in ("int8", "int4"):
        row = json.loads(here(f"perplexity run my.txt --precision {precision} --json", capsys).out)
        rounded = row.pop(precision)
        assert row == plain
        assert rounded["tokens"] == plain["tokens"]
        assert 0 < abs(rounded["loss"] - plain["loss"]) < 0.5
        cost = rounded["perplexity"] - plain["perplexity"]
        last = here(f"perplexity run my.txt --precision {precision}", capsys).out.splitlines()[-1]
        share = f"{cost:+.3f} ({cost / plain['perplexity']:+.2%})"
        assert last == f"{precision}        {rounded['perplexity']:.3f} per token, which is {share}"
    wrong = here("perplexity run my.txt --precision int9", capsys)
    assert (wrong.code, wrong.out, wrong.err) == (2, "", "saccade: unknown --precision 'int9'; did you mean 'int8'?\n")
