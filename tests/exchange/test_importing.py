"""What is wrong with the files of a published model is told in one line, with the file and the field, before any work."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade.errors import DataError
from saccade.exchange.importing import import_marian
from saccade.exchange.marian import Generation, Published

from ..cli.commands import here
from . import models
from .models import published

pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

BAD: list[Any] = ["12", "", -1, None, [], [3], {"a": 1}, 1.5, float("nan"), float("inf"), 10**12, True, "x" * 1000]
# What some fields may well be, though others may not.
GOOD: dict[str, list[Any]] = {
    "decoder_vocab_size": [None],
    "num_beams": [None],
    "max_length": [None],
    "length_penalty": [None, -1, 1.5, 10**12],
    "do_sample": [None, True],
    "temperature": [None, 1.5, 10**12],
    "top_k": [None],
    "top_p": [None],
    "bad_words_ids": [None, []],
    "scale_embedding": [True],
    "share_encoder_decoder_embeddings": [True],
    "tie_word_embeddings": [True],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published model."""
    path = tmp_path_factory.mktemp("published") / "opus"
    published(path)
    return path


@pytest.fixture
def opus(model: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copytree(model, tmp_path / "opus"))


def change(path: Path, **keys: Any) -> None:
    path.write_text(json.dumps({**models.told(path), **keys}))


def refused(opus: Path) -> str:
    """The one line that is said, and nothing is left behind."""
    with pytest.raises(DataError) as told:
        import_marian(opus, opus / "run")
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 600
    assert not (opus / "run").exists()
    return str(told.value)


@pytest.mark.parametrize("field", [field.name for kind in (Published, Generation) for field in dataclasses.fields(kind)])
def test_a_malformed_field_is_told_by_its_name(field: str, opus: Path) -> None:
    file = "generation_config.json" if field in {one.name for one in dataclasses.fields(Generation)} else "config.json"
    whole, tried = (opus / file).read_text(), 0
    for value in BAD:
        if value in GOOD.get(field, []):
            continue
        (opus / file).write_text(whole)
        change(opus / file, **{field: value})
        line = refused(opus)
        assert f"{file}: " in line, (value, line)
        assert field in line, (value, line)
        tried += 1
    assert tried >= len(BAD) - 4


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "encoder_attention_heads to divide d_model, got 16"),
        ({"d_model": 99_998}, "expected (27, 99998), got (27, 16)"),
        ({"encoder_ffn_dim": 100_000, "decoder_ffn_dim": 100_000}, "fc1.weight: expected (100000, 16), got (24, 16)"),
        ({"vocab_size": 9_000_000}, "vocab_size: expected as many as rows, got 9000000, where model.safetensors has"),
        ({"eos_token_id": 26}, "eos_token_id 26"),
    ],
)
def test_sizes_that_are_not_those_of_the_weights_are_told(keys: dict[str, Any], words: str, opus: Path) -> None:
    change(opus / "config.json", **keys)
    assert words in refused(opus)


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
    import_marian(opus, opus / "good")
    change(opus / "vocab.json", w3=index)
    assert "ids" in refused(opus)


def test_a_token_that_is_no_text_is_refused(opus: Path) -> None:
    (opus / "tokenizer.json").unlink()
    for name in ("source.spm", "target.spm"):
        (opus / name).write_bytes(PIECES)
    ids = models.tokenizer_of_words().get_vocab()
    (opus / "vocab.json").write_text(json.dumps({**ids, "\ud800": 3}))
    assert "vocab.json: expected whole numbers from 0 on as ids of texts" in refused(opus)


def test_weights_of_another_shape_are_refused(opus: Path) -> None:
    whole = load_file(opus / "model.safetensors")
    for name, tensor in (
        ("final_logits_bias", torch.zeros(27)),
        ("model.encoder.layers.0.fc1.weight", torch.zeros(3, 3, 3)),
        ("model.shared.weight", torch.zeros(())),
        ("model.encoder.embed_positions.weight", torch.zeros(4)),
    ):
        save_file({**whole, name: tensor}, opus / "model.safetensors")
        assert name in refused(opus) or "vocab_size" in refused(opus)


def test_the_command_ends_with_the_code_of_bad_data(opus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(opus / "config.json", d_model="wide")
    answer = here(["import", str(opus), "--out", str(opus / "run")], capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert "config.json: d_model: it should be a valid integer, got 'wide'" in answer.err


def piece(text: str) -> bytes:
    """A piece of sentencepiece with the score 0."""
    inner = b"\x0a" + bytes([len(text.encode())]) + text.encode() + b"\x15" + bytes(4)
    return b"\x0a" + bytes([len(inner)]) + inner


PIECES = b"".join(map(piece, ["▁", "a", "b"]))
