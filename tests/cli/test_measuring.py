"""The verb perplexity, from the command line."""

import json
from pathlib import Path

import pytest

from saccade.exchange.opening import load

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
