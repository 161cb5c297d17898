"""Files of a published model that are damaged, or could run code, are refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import DataError
from saccade.exchange.importing import import_model

from . import models
from .models import change, refused

pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with


def piece(text: str) -> bytes:
    """A piece of sentencepiece with the score 0."""
    inner = b"\x0a" + bytes([len(text.encode())]) + text.encode() + b"\x15" + bytes(4)
    return b"\x0a" + bytes([len(inner)]) + inner


PIECES = b"".join(map(piece, ["▁", "a", "b"]))


@pytest.mark.parametrize("content", ["", "[]", "3", "{", "[" * 100_000, '{"d_model": ' + "9" * 10_000 + "}", "\ud800"])
def test_a_config_that_is_no_table_is_refused(content: str, opus: Path) -> None:
    (opus / "config.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert refused(opus).startswith(f"{opus / 'config.json'}: ")


@pytest.mark.parametrize("index", ["3", None, -1, 2.0, True, [], {}, 10**30])
def test_an_id_that_is_none_is_refused(index: Any, opus: Path) -> None:
    tokenizer = models.tokenizer_of_words()
    (opus / "tokenizer.json").unlink()
    for name in ("source.spm", "target.spm"):
        (opus / name).write_bytes(PIECES)
    (opus / "vocab.json").write_text(json.dumps(tokenizer.get_vocab()))
    import_model(opus, opus / "good")
    change(opus / "vocab.json", w3=index)
    assert "ids" in refused(opus)


def test_a_token_that_is_no_text_is_refused(opus: Path) -> None:
    (opus / "tokenizer.json").unlink()
    for name in ("source.spm", "target.spm"):
        (opus / name).write_bytes(PIECES)
    ids = models.tokenizer_of_words().get_vocab()
    (opus / "vocab.json").write_text(json.dumps({**ids, "\ud800": 3}))
    assert "vocab.json: expected whole numbers from 0 on as ids of texts" in refused(opus)


def test_weights_that_could_run_code_are_not_opened(tmp_path: Path) -> None:
    models.published(tmp_path / "published")
    (tmp_path / "published" / "model.safetensors").rename(tmp_path / "published" / "pytorch_model.bin")
    with pytest.raises(
        DataError, match=r"expected model.safetensors, got pytorch_model.bin.*; convert it: python -c"
    ) as told:
        import_model(tmp_path / "published", tmp_path / "run")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()
