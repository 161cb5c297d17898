"""How models write: what a published file says is our search, and our search is what an exported file says."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.data import tokenizers
from saccade.errors import DataError
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.search import Config as SearchConfig

from . import models
from .models import SOURCES, encoded, logits, opened, read, written

transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

PAD = 26  # of published models
MARIAN: dict[str, Any] = {"final_norm": "none", "positions": "sinusoidal_halves"}
SEARCHES: list[dict[str, Any]] = [
    {"method": "greedy"},
    {"method": "greedy", "length_penalty": 0.6},
    {"method": "beam", "beam": 1},
    {"method": "beam", "beam": 3, "length_penalty": 0.0},
    {"method": "beam", "beam": 6, "length_penalty": 0.6, "n_best": 2},
    {"method": "sample"},
    {"method": "sample", "temperature": 0.7, "top_k": 5, "top_p": 0.9},
]


@pytest.mark.parametrize("words", SEARCHES, ids=lambda words: "-".join(map(str, words.values())))
def test_transformers_saves_the_search_that_was_exported_and_it_comes_back(words: dict[str, Any], tmp_path: Path) -> None:
    export(models.run(tmp_path / "run", searching=words, **MARIAN), tmp_path / "out", "marian")
    table = models.told(tmp_path / "out" / "generation_config.json")
    transformers.GenerationConfig(**table).save_pretrained(tmp_path / "one")
    opened(tmp_path / "out").save_pretrained(tmp_path / "all")
    for path in (tmp_path / "one", tmp_path / "all"):
        saved = models.told(path / "generation_config.json")
        assert {key: saved[key] for key in table} == table
    import_model(tmp_path / "out", tmp_path / "again")
    again, wanted = load(tmp_path / "again").run.settings.search, SearchConfig(**{"max_length": 39, **words})
    assert again is not None
    assert again.method == (
        "beam" if wanted.method == "beam" and wanted.beam > 1 else wanted.method.replace("beam", "greedy")
    )
    said = {
        "greedy": [],
        "beam": ["beam", "length_penalty"],
        "sample": ["temperature", "top_k", "top_p"],
    }
    for key in ["max_length", *said[again.method]]:
        assert getattr(again, key) == getattr(wanted, key), key


def test_a_model_that_is_published_to_sample_samples(tmp_path: Path) -> None:
    """What its file leaves out is as transformers has it."""
    models.published(tmp_path / "published")
    words = {"do_sample": True, "temperature": None, "top_p": 0.8, "max_length": 20}
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps(words))
    import_model(tmp_path / "published", tmp_path / "run")
    found = load(tmp_path / "run").run.settings.search
    assert found is not None
    assert (found.method, found.temperature, found.top_k, found.top_p, found.max_length) == ("sample", 1.0, 50, 0.8, 19)


def test_no_more_is_written_than_there_are_places(tmp_path: Path) -> None:
    """Published files often allow 512 tokens, whatever the table of positions holds; behind its end, transformers fails."""
    theirs = models.published(tmp_path / "published", max_position_embeddings=12)
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps({"max_length": 512, "num_beams": 1}))
    import_model(tmp_path / "published", tmp_path / "run")
    model = load(tmp_path / "run")
    assert model.run.settings.search is not None
    assert model.run.settings.search.max_length == 11
    with pytest.raises(IndexError), torch.no_grad():
        theirs(**read([" ".join(["w1"] * 12)]), decoder_input_ids=torch.tensor([[PAD]]))
    with pytest.raises(DataError, match="12 tokens, at most 11 expected"):
        model.predict([" ".join(["w1"] * 12)])
    full = " ".join(["w1", "w5", "w2"] * 3 + ["w7", "w3"])  # eleven words and the end: as many as there are places
    before = torch.randint(2, PAD, (1, 12))
    before[:, 0] = theirs.config.decoder_start_token_id
    with torch.no_grad():
        wanted = theirs(**read([full]), decoder_input_ids=before).logits.log_softmax(-1)
    rows = encoded(model, [full])
    assert len(rows[0]) == 12
    torch.testing.assert_close(logits(model, rows, before), wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_banned_words_are_not_written_as_transformers_does_not(seed: int, tmp_path: Path) -> None:
    theirs = models.published(tmp_path / "published", seed=seed)
    free = theirs.generate(**read(SOURCES), num_beams=1, max_length=20, bad_words_ids=[[PAD]])
    counts = torch.bincount(free.flatten(), minlength=27)
    banned = [int(index) for index in counts.argsort(descending=True) if int(index) not in (0, PAD)][:2]
    assert all(counts[index] > 0 for index in banned)
    table = {"max_length": 20, "num_beams": 1, "bad_words_ids": [[PAD], *([index] for index in banned)]}
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps(table))
    import_model(tmp_path / "published", tmp_path / "run")
    model = load(tmp_path / "run")
    assert model.task.writer.vocabulary.unwritten == tuple(sorted(banned))
    wanted = theirs.generate(**read(SOURCES), **table)
    assert not {*wanted[:, 1:].flatten().tolist()} & {*banned}
    found = written(model, encoded(model, SOURCES))
    assert found == [[index for index in row[1:] if index != PAD] for row in wanted.tolist()]
    export(model, tmp_path / "out", "marian")
    assert models.told(tmp_path / "out" / "generation_config.json")["bad_words_ids"] == [[i] for i in sorted([*banned, PAD])]


def test_a_ban_of_several_tokens_is_refused(tmp_path: Path) -> None:
    models.published(tmp_path / "published")
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[26], [4, 5]]}))
    with pytest.raises(DataError, match=r"bad_words_ids: expected single tokens, got \[4, 5\]; fix: ") as told:
        import_model(tmp_path / "published", tmp_path / "run")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


def test_the_end_can_be_written_though_it_is_banned(tmp_path: Path) -> None:
    """As in transformers, which takes it off the list."""
    models.published(tmp_path / "published")
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[0], [PAD]]}))
    import_model(tmp_path / "published", tmp_path / "run")
    assert load(tmp_path / "run").task.writer.vocabulary.banned == (PAD,)


def test_a_ban_of_what_is_no_token_is_refused(tmp_path: Path) -> None:
    models.published(tmp_path / "published")
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[27]]}))
    with pytest.raises(DataError, match="bad_words_ids: expected ids below 27, got 27; fix: "):
        import_model(tmp_path / "published", tmp_path / "run")


def test_special_tokens_are_written_and_kept_from_being_written(tmp_path: Path) -> None:
    """A run without biases has none that make padding and start unlikely: what the files say must keep them out."""
    model = models.run(tmp_path / "run", seed=2, steps=40, output_bias="none", searching={"method": "greedy"}, **MARIAN)
    export(model, tmp_path / "out", "marian")
    theirs = opened(tmp_path / "out")
    for config in (theirs.config, theirs.generation_config):
        special = (config.pad_token_id, config.bos_token_id, config.eos_token_id, config.decoder_start_token_id)
        assert special == (tokenizers.PAD, tokenizers.START, tokenizers.END, tokenizers.START)
    assert theirs.generation_config.forced_eos_token_id is None
    assert theirs.generation_config.bad_words_ids == [[tokenizers.PAD], [tokenizers.START]]
    with torch.no_grad():  # the likeliest of all, were they not kept out
        theirs.final_logits_bias[0, : tokenizers.START + 1] = 50.0
    rows = encoded(model, SOURCES)
    ids = torch.tensor([[*row, *[tokenizers.PAD] * (max(map(len, rows)) - len(row))] for row in rows])
    made = theirs.generate(input_ids=ids, attention_mask=ids.ne(tokenizers.PAD).long())
    assert (made[:, 0] == tokenizers.START).all()
    wanted = written(model, rows)
    found = [row[1:].tolist() for row in made]
    assert [row[: row.index(tokenizers.END) + 1] if tokenizers.END in row else row for row in found] == wanted
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "out")
    names = [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id]
    assert names == [tokenizers.PAD, tokenizers.START, tokenizers.END, tokenizers.UNKNOWN]
    assert tokenizer("w1 nobody w2").input_ids[1] == tokenizers.UNKNOWN
