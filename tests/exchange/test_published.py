"""Files of a published model that are damaged, or could run code, are refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade.errors import DataError
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load

from . import gpt_models, models
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


# Several files


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """A model in several files."""
    gpt_models.published(tmp_path / "shards", shards="20KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 2
    return tmp_path / "shards"


def index_of(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = models.told(path / "model.safetensors.index.json")
    return table


def test_a_model_in_several_files_is_that_in_one(shards: Path, tmp_path: Path) -> None:
    gpt_models.published(tmp_path / "one")
    one, several = load(tmp_path / "one").module.state_dict(), load(shards).module.state_dict()
    assert all(torch.equal(one[name], several[name]) for name in one)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda places: places.clear(), "index.json: expected weight_map with the file of each tensor, got none"),
        (lambda places: places.update(x=3), "expected a file *.safetensors beside it for x, got 3"),
        (lambda places: places.update(x="../a.safetensors"), "beside it for x, got '../a.safetensors'"),
        (lambda places: places.update(x="pytorch_model.bin"), "beside it for x, got 'pytorch_model.bin'"),
        (
            lambda places: places.update(x="a.safetensors"),
            "expected a.safetensors, which model.safetensors.index.json names",
        ),
        (lambda places: places.update(x=min(places.values())), "expected x by model.safetensors.index.json, got none"),
        (lambda places: places.pop("transformer.ln_f.bias"), "got transformer.ln_f.bias, of another file"),
    ],
)
def test_an_index_that_does_not_fit_its_files_is_refused(spoil: Any, words: str, shards: Path) -> None:
    table = index_of(shards)
    spoil(table["weight_map"])
    models.change(shards / "model.safetensors.index.json", weight_map=table["weight_map"])
    assert words in refused(shards)


@pytest.mark.parametrize("content", ["[]", "{}", '{"weight_map": []}', "{"])
def test_an_index_that_is_no_table_is_refused(content: str, shards: Path) -> None:
    (shards / "model.safetensors.index.json").write_text(content)
    assert refused(shards).startswith(f"{shards / 'model.safetensors.index.json'}: ")


def test_a_file_that_is_cut_off_is_refused(shards: Path) -> None:
    file = sorted(shards.glob("model-*.safetensors"))[1]
    file.write_bytes(file.read_bytes()[:100])
    assert refused(shards).startswith(f"{file}: cannot be read (")


# Pickles


def test_a_pickle_is_read_only_if_asked_for(tmp_path: Path) -> None:
    theirs = gpt_models.published(tmp_path / "published")
    path = tmp_path / "published"
    torch.save(theirs.state_dict(), path / "pytorch_model.bin")
    spoiled = {name: tensor + 1 for name, tensor in load_file(path / "model.safetensors").items()}
    save_file(spoiled, path / "model.safetensors")  # so that it can be seen which file is read
    for name, given in (("safe", False), ("bin", True)):
        import_model(path, tmp_path / name, unsafe_bin=given)
    wanted = theirs.transformer.wte.weight
    assert torch.equal(load(tmp_path / "bin").module.embedding.weight, wanted)
    assert torch.equal(load(tmp_path / "safe").module.embedding.weight, wanted + 1)
    (path / "pytorch_model.bin").unlink()
    with pytest.raises(DataError, match=r"expected pytorch_model.bin, got none; leave --unsafe-bin out"):
        import_model(path, tmp_path / "other", unsafe_bin=True)


class Trap:
    """What runs when it is opened."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('it ran')",))


@pytest.mark.parametrize("content", [Trap(), {"x": Trap()}, [torch.zeros(1)], {"x": 3}, b"x"])
def test_a_pickle_of_anything_but_tensors_is_refused(content: Any, tmp_path: Path) -> None:
    gpt_models.published(tmp_path)
    file = tmp_path / "pytorch_model.bin"
    torch.save(content, file) if not isinstance(content, bytes) else file.write_bytes(content)
    with pytest.raises(DataError) as told:
        import_model(tmp_path, tmp_path / "run", unsafe_bin=True)
    assert str(told.value).startswith(f"{file}: ")
    assert "\n" not in str(told.value)
