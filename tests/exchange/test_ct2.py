"""CTranslate2 writes what our search writes, whatever the norms, positions and embeddings."""

from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.data.tokenizers import END, PAD, START
from saccade.exchange import ct2
from saccade.exchange.exporting import export
from saccade.exchange.vocabulary import NEVER
from saccade.search import Config as SearchConfig
from saccade.training.trained import Trained

from . import models
from .models import DOZENS, SOURCES, lively, written

ctranslate2 = pytest.importorskip("ctranslate2", reason="ctranslate2 (of the ct2 extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

LIMIT = 30
VARIANTS: list[dict[str, Any]] = [
    {"norm": "post", "final_norm": "both"},
    {"norm": "post", "final_norm": "none", "positions": "sinusoidal_halves", "activation": "swish"},
    {"norm": "pre", "final_norm": "both", "embeddings": "one"},
    {"norm": "pre", "final_norm": "none", "activation": "gelu", "embedding_scale": "one"},
    {"positions": "learned", "embeddings": "output", "source_ends": "end"},
]


@pytest.mark.parametrize("keys", VARIANTS, ids=lambda keys: "-".join(keys.values()))
def test_it_writes_what_we_write(keys: dict[str, Any], tmp_path: Path) -> None:
    ends = keys.get("source_ends", "open")
    form = {key: value for key, value in keys.items() if key != "source_ends"}
    models.run(tmp_path / "run", steps=DOZENS, task={"source_ends": ends}, **form)
    export(tmp_path / "run", tmp_path / "out", "ct2")
    trained = Trained.open(tmp_path / "run")
    source, target = trained.task.source, trained.task.target
    translator = ctranslate2.Translator(str(tmp_path / "out"), intra_threads=1)
    rows = [source.encode(text) for text in SOURCES]
    # Its search stops as soon as it has so many beams of texts, ours when none can win.
    for beam, patience in ((1, 1.0), (5, 20.0)):
        found = translator.translate_batch(
            [source.labels(row) for row in rows],
            beam_size=beam,
            max_decoding_length=LIMIT,
            min_decoding_length=0,
            length_penalty=1.0,
            patience=patience,
        )
        ended = [[*row, 2] if ends == "end" else row for row in rows]
        texts = written(trained.model, ended, SearchConfig(method="beam", beam=beam, max_length=LIMIT))
        wanted = [target.labels([index for index in text if index != 2]) for text in texts]
        assert [one.hypotheses[0] for one in found] == wanted
        assert lively(texts)


@pytest.mark.parametrize("bias", ["none", "learned"])
def test_the_biases_of_padding_and_start_are_as_low_as_can_be(bias: str, tmp_path: Path) -> None:
    """All others are the model's own: zeros, or what was learned."""
    models.run(tmp_path / "run", output_bias=bias)
    model: Any = Trained.open(tmp_path / "run").model
    found = ct2.specification(model, 20).decoder.projection.bias
    assert found[[PAD, START]].tolist() == [NEVER, NEVER]
    own = torch.zeros(len(found)) if bias == "none" else model.output.bias.detach()
    assert found[END:].tolist() == own[END:].tolist()


def test_neither_padding_nor_start_is_written_without_being_told(tmp_path: Path) -> None:
    """A run without biases has none to make them unlikely; the export puts them there."""
    models.run(tmp_path / "run", steps=DOZENS, output_bias="none", embeddings="one")
    export(tmp_path / "run", tmp_path / "out", "ct2")
    trained = Trained.open(tmp_path / "run")
    translator = ctranslate2.Translator(str(tmp_path / "out"), intra_threads=1)
    rows = [trained.task.source.encode(text) for text in SOURCES]
    found = translator.translate_batch(
        [trained.task.source.labels(row) for row in rows], beam_size=1, max_decoding_length=LIMIT, min_decoding_length=0
    )
    texts = written(trained.model, rows, SearchConfig(max_length=LIMIT))
    assert [one.hypotheses[0] for one in found] == [
        trained.task.target.labels([index for index in text if index != 2]) for text in texts
    ]


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal_halves", "learned"])
@pytest.mark.parametrize("ends", ["open", "end"])
def test_the_longest_source_is_read_as_we_read_it(positions: str, ends: str, tmp_path: Path) -> None:
    """The table of positions reaches as far as a source and a text may be long, their end and start counted."""
    longest = 12
    given = {"source_ends": ends, "longest": longest}
    models.run(
        tmp_path / "run",
        steps=DOZENS,
        task=given,
        searching={"max_length": longest},
        positions=positions,
        longest=longest + 1,
    )
    export(tmp_path / "run", tmp_path / "out", "ct2")
    trained = Trained.open(tmp_path / "run")
    source, target = trained.task.source, trained.task.target
    rows = [source.encode(" ".join(f"w{(7 * place + start) % 24}" for place in range(longest))) for start in range(6)]
    translator = ctranslate2.Translator(str(tmp_path / "out"), intra_threads=1)
    found = translator.translate_batch(
        [source.labels(row) for row in rows], beam_size=1, max_decoding_length=longest, min_decoding_length=0
    )
    ended = [[*row, 2] if ends == "end" else row for row in rows]
    texts = written(trained.model, ended, SearchConfig(max_length=longest))
    assert [one.hypotheses[0] for one in found] == [target.labels([i for i in text if i != 2]) for text in texts]
    with pytest.raises(RuntimeError, match="position"):
        translator.translate_batch([[*source.labels(rows[0]), *["w1"] * 9]])


def test_special_tokens_are_named(tmp_path: Path) -> None:
    for ends in ("open", "end"):
        models.run(tmp_path / ends, task={"source_ends": ends})
        export(tmp_path / ends, tmp_path / f"{ends}.out", "ct2")
        facts = models.told(tmp_path / f"{ends}.out" / "config.json")
        names = (facts["unk_token"], facts["bos_token"], facts["eos_token"], facts["decoder_start_token"])
        assert names == ("<unk>", "<s>", "</s>", "<s>")
        assert facts["add_source_eos"] == (ends == "end")
        assert not facts["add_source_bos"]
