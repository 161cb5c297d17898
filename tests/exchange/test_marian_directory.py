"""A run as a directory of Marian: every file names the same special tokens, and they are ours."""

import json
from pathlib import Path

from saccade.data.tokenizers import END, PAD, SPECIALS, START, UNKNOWN
from saccade.exchange.exporting import export

from . import models

IDS = {"pad_token_id": PAD, "bos_token_id": START, "decoder_start_token_id": START, "eos_token_id": END}
NAMES = {"pad_token": PAD, "bos_token": START, "eos_token": END, "unk_token": UNKNOWN}


def test_all_files_have_the_same_special_tokens(tmp_path: Path) -> None:
    models.run(tmp_path / "run", final_norm="none", positions="sinusoidal_halves", output_bias="learned")
    export(tmp_path / "run", tmp_path / "out", "marian")
    for name in ("config.json", "generation_config.json"):
        table = json.loads((tmp_path / "out" / name).read_text())
        assert {key: table[key] for key in IDS} == IDS, name
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["bad_words_ids"] == [[PAD], [START]]
    told = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert {key: told[key] for key in NAMES} == {key: SPECIALS[index] for key, index in NAMES.items()}
