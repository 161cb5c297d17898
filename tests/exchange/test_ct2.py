"""CTranslate2 writes what our search writes, whatever the norms, positions and embeddings."""

from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.data.tokenizers import END, PAD, START
from saccade.exchange import ct2
from saccade.exchange.ct2 import NEVER
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.search import Config as SearchConfig
from saccade.trained import TrainedModel

from . import models
from .models import DOZENS, SOURCES, encoded, lively, written

ctranslate2 = pytest.importorskip("ctranslate2", reason="ctranslate2 (of the ct2 extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

LIMIT = 30
VARIANTS: list[dict[str, Any]] = [
    {"norm": "post", "final_norm": "both"},
    {"norm": "post", "final_norm": "none", "positions": "sinusoidal_halves", "activation": "swish"},
    {"norm": "pre", "final_norm": "both", "embeddings": "one"},
    {"norm": "pre", "final_norm": "none", "activation": "gelu", "embedding_scale": "one"},
    {"positions": "learned", "embeddings": "output", "append_end": True},
]


def written_there(path: Path, model: TrainedModel, texts: list[str], **search: Any) -> list[list[str]]:
    """The tokens that CTranslate2 writes for texts, which it is given as tokens."""
    tokenizer = model.task.reader.tokenizer
    rows = [tokenizer.labels(tokenizer.encode(text)) for text in texts]
    translator = ctranslate2.Translator(str(path), intra_threads=1)
    found = translator.translate_batch(rows, **{"max_decoding_length": LIMIT, "min_decoding_length": 0, **search})
    return [one.hypotheses[0] for one in found]


def written_here(model: TrainedModel, texts: list[str], search: SearchConfig) -> list[list[str]]:
    """The tokens that our search writes, without the end."""
    tokenizer = model.task.writer.tokenizer
    rows = written(model, encoded(model, texts), search)
    return [tokenizer.labels([index for index in row if index != tokenizer.vocabulary.end]) for row in rows]


@pytest.mark.parametrize("keys", VARIANTS, ids=lambda keys: "-".join(map(str, keys.values())))
def test_it_writes_what_we_write(keys: dict[str, Any], tmp_path: Path) -> None:
    form = {key: value for key, value in keys.items() if key != "append_end"}
    ends = {"append_end": keys.get("append_end", False)}
    model = models.run(tmp_path / "run", steps=DOZENS, reader=ends, **form)
    export(model, tmp_path / "out", "ct2")
    # Its search stops as soon as it has so many beams of texts, ours when none can win.
    for beam, patience in ((1, 1.0), (5, 20.0)):
        search = SearchConfig(method="beam", beam=beam, max_length=LIMIT)
        there = written_there(tmp_path / "out", model, SOURCES, beam_size=beam, length_penalty=1.0, patience=patience)
        assert there == written_here(model, SOURCES, search)
        assert lively(written(model, encoded(model, SOURCES), search))


@pytest.mark.parametrize("start", [26, 0], ids=["from padding", "from the end"])
def test_an_imported_model_writes_what_it_writes_here(start: int, tmp_path: Path) -> None:
    """With its own ids, whatever token it starts from."""
    pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    models.published(tmp_path / "published", seed=4, decoder_start_token_id=start)
    import_model(tmp_path / "published", tmp_path / "run")
    model = load(tmp_path / "run")
    export(model, tmp_path / "out", "ct2")
    here = written_here(model, SOURCES, SearchConfig(max_length=LIMIT))
    assert written_there(tmp_path / "out", model, SOURCES, beam_size=1) == here
    assert len(set(map(tuple, here))) > 2


@pytest.mark.parametrize("bias", ["none", "learned"])
def test_the_biases_of_padding_and_start_are_as_low_as_can_be(bias: str, tmp_path: Path) -> None:
    """All others are the model's own: zeros, or what was learned."""
    model = models.run(tmp_path / "run", output_bias=bias)
    found = ct2.specification(model.module, model.task.writer.vocabulary, 20).decoder.projection.bias
    assert found[[PAD, START]].tolist() == [NEVER, NEVER]
    own = torch.zeros(len(found)) if bias == "none" else model.module.output.bias.detach()
    assert found[END:].tolist() == own[END:].tolist()


def test_neither_padding_nor_start_is_written_without_being_told(tmp_path: Path) -> None:
    """A run without biases has none to make them unlikely; the export puts them there."""
    model = models.run(tmp_path / "run", steps=DOZENS, output_bias="none", embeddings="one")
    export(model, tmp_path / "out", "ct2")
    found = written_there(tmp_path / "out", model, SOURCES, beam_size=1)
    assert found == written_here(model, SOURCES, SearchConfig(max_length=LIMIT))


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal_halves", "learned"])
@pytest.mark.parametrize("ends", [False, True], ids=["open", "end"])
def test_the_longest_source_is_read_as_we_read_it(positions: str, ends: bool, tmp_path: Path) -> None:
    """The table of positions reaches as far as a source and a text may be long, their end and start counted."""
    longest = 12
    model = models.run(
        tmp_path / "run",
        steps=DOZENS,
        reader={"append_end": ends, "max_length": longest},
        searching={"max_length": longest},
        positions=positions,
        max_positions=longest + 1,
    )
    export(model, tmp_path / "out", "ct2")
    texts = [" ".join(f"w{(7 * place + start) % 24}" for place in range(longest)) for start in range(6)]
    found = written_there(tmp_path / "out", model, texts, beam_size=1, max_decoding_length=longest)
    assert found == written_here(model, texts, SearchConfig(max_length=longest))
    with pytest.raises(RuntimeError, match="position"):
        written_there(tmp_path / "out", model, [texts[0] + " w1" * 9])


def test_special_tokens_are_named(tmp_path: Path) -> None:
    for ends in (False, True):
        export(models.run(tmp_path / str(ends), reader={"append_end": ends}), tmp_path / f"{ends}.out", "ct2")
        facts = models.told(tmp_path / f"{ends}.out" / "config.json")
        names = (facts["unk_token"], facts["bos_token"], facts["eos_token"], facts["decoder_start_token"])
        assert names == ("<unk>", "<s>", "</s>", "<s>")
        assert facts["add_source_eos"] == ends
        assert not facts["add_source_bos"]
