"""A run as a directory of transformers: every file names the same special tokens."""

import json
from pathlib import Path

import pytest

from saccade.data.tokenizers import END, PAD, SPECIALS, START, UNKNOWN
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load

from . import models

IDS = {"pad_token_id": PAD, "bos_token_id": START, "decoder_start_token_id": START, "eos_token_id": END}
NAMES = {"pad_token": PAD, "bos_token": START, "eos_token": END, "unk_token": UNKNOWN}


def test_all_files_have_the_same_special_tokens(tmp_path: Path) -> None:
    model = models.run(tmp_path / "run", final_norm="none", positions="sinusoidal_halves", output_bias="learned")
    export(model, tmp_path / "out", "marian")
    for name in ("config.json", "generation_config.json"):
        table = json.loads((tmp_path / "out" / name).read_text())
        assert {key: table[key] for key in IDS} == IDS, name
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["bad_words_ids"] == [[PAD], [START]]
    told = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert {key: told[key] for key in NAMES} == {key: SPECIALS[index] for key, index in NAMES.items()}


def test_an_imported_model_has_no_start_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    models.published(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "run")
    export(load(tmp_path / "run"), tmp_path / "out", "marian")
    told = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert told == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }
    for name in ("config.json", "generation_config.json"):
        table = json.loads((tmp_path / "out" / name).read_text())
        assert (table["pad_token_id"], table["decoder_start_token_id"], table["eos_token_id"]) == (26, 26, 0)
