"""What is wrong with the files of a published model is told in one line, with the file and the field, before any work."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade.exchange.families.marian import MarianConfig
from saccade.exchange.generation import Generation
from saccade.exchange.importing import import_model, read
from saccade.exchange.opening import load

from ..cli.commands import here
from .models import change, refused

pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

BAD: list[Any] = ["12", "", -1, None, [], [3], {"a": 1}, 1.5, float("nan"), float("inf"), 10**12, True, "x" * 1000]
# What some fields may well be, though others may not.
GOOD: dict[str, list[Any]] = {
    "decoder_vocab_size": [None],
    "num_beams": [None],
    "max_length": [None],
    "max_new_tokens": [None],
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


@pytest.mark.parametrize("field", [field.name for kind in (MarianConfig, Generation) for field in dataclasses.fields(kind)])
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


@pytest.mark.parametrize("name", ["bart", None, 3, "x" * 1000, ["marian"], "__init__"])
def test_a_family_that_is_not_known_is_refused_with_those_that_are(name: Any, opus: Path) -> None:
    change(opus / "config.json", model_type=name)
    line = refused(opus)
    assert f"{opus / 'config.json'}: expected model_type one of bert, gpt2, marian, roberta, xlnet, got {name!r:.40}" in line


def test_a_model_can_be_read_without_a_run(opus: Path) -> None:
    found = read(opus)
    import_model(opus, opus / "run")
    run = load(opus / "run")
    assert found.settings == run.run.settings
    assert found.published.task.sizes() == run.task.sizes()
    for name, tensor in run.module.state_dict().items():
        assert torch.equal(found.module.state_dict()[name], tensor), name
