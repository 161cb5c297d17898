"""Models of Marian: imported they are what transformers makes of them, exported they are what they were here."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.errors import DataError, UsageError
from saccade.exchange import published
from saccade.exchange.exporting import export
from saccade.exchange.families import marian
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.search import Config as SearchConfig
from saccade.trained import TrainedModel

from .. import models
from ..models import SOURCES, encoded, lively, logits, opened, read, written

transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

END, UNKNOWN, PAD = 0, 1, 26  # theirs
# With seeds by which texts differ and most of them end.
VARIANTS: list[dict[str, Any]] = [
    {"seed": 4},
    {"seed": 0, "activation_function": "relu", "scale_embedding": False},
    {"seed": 1, "share_encoder_decoder_embeddings": False},
    {"seed": 0, "tie_word_embeddings": False, "share_encoder_decoder_embeddings": False},
    {"seed": 12, "encoder_layers": 1, "decoder_layers": 3, "activation_function": "gelu", "decoder_start_token_id": 0},
]


@pytest.fixture(params=VARIANTS, ids=lambda keys: "-".join(keys))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, TrainedModel]:
    """A published model and the run that it became."""
    theirs = models.published(tmp_path / "published", **request.param)
    import_model(tmp_path / "published", tmp_path / "run")
    return theirs, load(tmp_path / "run")


def compare(theirs: Any, model: TrainedModel, tolerance: float) -> None:
    """Log-probabilities of every token at nine places of every source."""
    before = torch.randint(UNKNOWN + 1, PAD, (len(SOURCES), 9))
    before[:, 0] = theirs.config.decoder_start_token_id
    with torch.no_grad():
        wanted = theirs(**read(SOURCES), decoder_input_ids=before).logits.log_softmax(-1)
    found = logits(model, encoded(model, SOURCES), before)
    torch.testing.assert_close(found, wanted, atol=tolerance, rtol=0)
    assert wanted.std(1).max() > 0.01  # from place to place: what stands there makes a difference


@pytest.mark.parametrize("keys", VARIANTS, ids=lambda keys: "-".join(keys))
def test_imported_logits_are_those_of_transformers(keys: dict[str, Any], tmp_path: Path) -> None:
    theirs = models.published(tmp_path / "published", loud=False, **keys)
    import_model(tmp_path / "published", tmp_path / "run")
    compare(theirs, load(tmp_path / "run"), 1e-4)


def test_imported_logits_are_the_same_to_the_last_places(pair: tuple[Any, TrainedModel]) -> None:
    """Weights so large that they multiply rounding errors; in float64 these are small all the same."""
    theirs, model = pair
    model.module.double()
    compare(theirs.double(), model, 1e-9)


@pytest.mark.parametrize("beams", [1, 5])
def test_imported_models_write_what_transformers_generates(pair: tuple[Any, TrainedModel], beams: int) -> None:
    theirs, model = pair
    ways: dict[str, Any] = {"num_beams": beams, "max_length": 31, "do_sample": False, "length_penalty": 1.0}
    early = {"early_stopping": "never"} if beams > 1 else {}
    made = theirs.generate(**read(SOURCES), **ways, bad_words_ids=[[PAD]], **early)
    wanted = [[index for index in row[1:] if index != PAD] for row in made.tolist()]
    found = written(model, encoded(model, SOURCES), SearchConfig(method="beam", beam=beams, max_length=30))
    # Of texts that the limit cuts off, transformers returns one only where no other has ended; ours are ranked alike.
    compared = [(one, other) for one, other in zip(found, wanted, strict=True) if beams == 1 or {*one} & {*other} & {END}]
    assert [one for one, _ in compared] == [other for _, other in compared]
    assert lively([one for one, _ in compared], END)
    assert len(compared) > 3


def test_an_imported_model_keeps_its_own_ids_and_parameters(pair: tuple[Any, TrainedModel]) -> None:
    theirs, model = pair
    for tokenizer in (model.task.reader.tokenizer, model.task.writer.tokenizer):
        known, config = tokenizer.vocabulary, theirs.config
        special = (config.vocab_size, config.pad_token_id, config.decoder_start_token_id, config.eos_token_id)
        assert (known.size, known.pad, known.start, known.end) == special
        assert known.unknown == UNKNOWN
        assert [tokenizer.tokens().index(name) for name in ("</s>", "<unk>", "w0", "<pad>")] == [END, UNKNOWN, 2, PAD]
    assert torch.equal(model.module.target_embedding.weight, theirs.model.decoder.embed_tokens.weight)
    assert torch.equal(model.module.output.bias, theirs.final_logits_bias[0])


def test_a_source_ends_as_its_tokenizer_ends_it(tmp_path: Path) -> None:
    models.published(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "run")
    model = load(tmp_path / "run")
    assert model.run.settings.reader.append_end
    assert all(row[-1] == END for row in encoded(model, SOURCES))
    scene = model.look(["w1 w2"]).scenes[0]
    assert scene.axes["input"].labels == ["w1", "w2", "</s>"]
    assert scene.looks[0].weights.shape[-1] == 3


EXPORTED = [{}, {"embeddings": "one"}, {"embeddings": "output", "activation": "gelu"}, {"embedding_scale": "one"}]


@pytest.mark.parametrize("keys", EXPORTED, ids=lambda keys: "-".join(keys.values()) or "separate")
@pytest.mark.parametrize("bias", ["learned", "none"])
def test_an_exported_run_has_the_same_logits_in_transformers(keys: dict[str, str], bias: str, tmp_path: Path) -> None:
    form: dict[str, Any] = {"final_norm": "none", "positions": "sinusoidal_halves", "output_bias": bias, **keys}
    shared = keys.get("embeddings") == "one"
    model = models.run(tmp_path / "run", writer={"share_tokenizer": shared}, **form)
    export(model, tmp_path / "out", "marian")
    theirs, rows = opened(tmp_path / "out"), encoded(model, SOURCES)
    before = torch.randint(3, model.task.writer.vocabulary.size, (len(rows), 7))
    before[:, 0] = theirs.config.decoder_start_token_id
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    with torch.no_grad():
        wanted = theirs(input_ids=ids, attention_mask=ids.ne(0).long(), decoder_input_ids=before).logits
    torch.testing.assert_close(logits(model, rows, before), wanted.log_softmax(-1), atol=1e-4, rtol=2e-7)
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(
        tmp_path / "out", tokenizer_file=str(tmp_path / "out" / ("tokenizer.json" if shared else "source.tokenizer.json"))
    )
    assert [tokenizer(text).input_ids for text in SOURCES] == rows


@pytest.mark.parametrize("shared", [True, False])
def test_what_was_exported_can_be_imported_again(shared: bool, tmp_path: Path) -> None:
    form: dict[str, Any] = {"final_norm": "none", "positions": "sinusoidal_halves", "embeddings": "output"}
    one = models.run(tmp_path / "run", steps=models.DOZENS, writer={"share_tokenizer": shared}, **form)
    export(one, tmp_path / "out", "marian")
    import_model(tmp_path / "out", tmp_path / "again")
    other = load(tmp_path / "again")
    assert other.task.sizes() == one.task.sizes()
    for name, tensor in one.module.state_dict().items():
        assert torch.equal(other.module.state_dict()[name], tensor), name
    assert other.run.settings.search == one.run.settings.search
    texts = [answer.text for answer in one.predict(SOURCES)]
    assert [answer.text for answer in other.predict(SOURCES)] == texts
    assert len(set(texts)) > 1


def test_what_was_imported_can_be_exported_again(tmp_path: Path) -> None:
    """Its ids are what they were, and so is every file that names them."""
    theirs = models.published(tmp_path / "published", seed=1)
    import_model(tmp_path / "published", tmp_path / "run")
    export(load(tmp_path / "run"), tmp_path / "out", "marian")
    again = opened(tmp_path / "out")
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "out")
    assert [tokenizer(text).input_ids for text in SOURCES] == [models.words(text) for text in SOURCES]
    given = read(SOURCES[2:3])
    with torch.no_grad():
        wanted = theirs.generate(**given, num_beams=1, max_length=30, bad_words_ids=[[PAD]], do_sample=False)
        found = again.generate(**given, num_beams=1, max_length=30, do_sample=False)
    assert found.tolist() == wanted.tolist()
    assert len(found[0]) > 2


def test_places_are_as_many_as_can_be_read_and_written(tmp_path: Path) -> None:
    """The longest source with its end, and the longest text with its start, have the same numbers there; one more fails."""
    longest = 9
    limits: dict[str, Any] = {"reader": {"append_end": True, "max_length": longest}, "searching": {"max_length": 7}}
    model = models.run(tmp_path / "run", **limits, final_norm="none", positions="sinusoidal_halves")
    export(model, tmp_path / "out", "marian")
    theirs, end = opened(tmp_path / "out"), model.task.writer.vocabulary.end
    assert theirs.config.max_position_embeddings == longest + 1
    row = [*torch.randint(4, model.task.reader.tokenizer.size, (longest,)).tolist(), end]
    before = torch.randint(4, model.task.writer.vocabulary.size, (1, 8))
    before[:, 0] = model.task.writer.vocabulary.start
    with torch.no_grad():
        wanted = theirs(input_ids=torch.tensor([row]), decoder_input_ids=before).logits.log_softmax(-1)
    torch.testing.assert_close(logits(model, [row], before), wanted, atol=1e-4, rtol=2e-7)
    with pytest.raises(IndexError), torch.no_grad():
        theirs(input_ids=torch.tensor([[*row, end]]), decoder_input_ids=before)


# What cannot be done is told in one line


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"normalize_before": True}, "normalize_before = False, got True"),
        ({"activation_function": "tanh"}, "activation_function one of relu, swish, silu, gelu, got 'tanh'"),
        ({"encoder_ffn_dim": 20}, "encoder_ffn_dim = decoder_ffn_dim, got 20 and 24"),
        ({"encoder_layers": 1}, "got also model.encoder.layers.1"),
        ({"decoder_layers": 3}, "expected tensors model.decoder.layers.2"),
        ({"eos_token_id": 99}, "ids below 27"),
    ],
)
def test_a_config_that_is_not_of_these_weights_is_refused(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    models.published(tmp_path)
    table = models.told(tmp_path / "config.json")
    (tmp_path / "config.json").write_text(json.dumps({**table, **keys}))
    with pytest.raises(DataError) as told:
        import_model(tmp_path, tmp_path / "run")
    assert words in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"norm": "pre"}, "format marian needs model.norm=post, got pre; train with that, or export as ct2"),
        ({"final_norm": "both"}, "model.final_norm=none, got both"),
        ({"positions": "learned"}, "model.positions=sinusoidal_halves, got learned"),
        ({"normalize": "entmax15"}, "model.normalize=softmax, got entmax15"),
    ],
)
def test_a_run_that_marian_cannot_be_is_refused(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    model = models.run(tmp_path / "run", **{"final_norm": "none", "positions": "sinusoidal_halves", **keys})
    with pytest.raises(UsageError) as told:
        export(model, tmp_path / "out", "marian")
    assert words in str(told.value)
    assert not (tmp_path / "out").exists()


def test_a_run_that_starts_texts_from_their_language_is_refused(tmp_path: Path) -> None:
    model = models.run(tmp_path / "run", final_norm="none", positions="sinusoidal_halves", writer={"start": "group"})
    with pytest.raises(UsageError, match=r"format marian needs writer\.start=one, got group; .* export as ct2"):
        export(model, tmp_path / "out", "marian")


def test_the_table_of_names_covers_every_parameter(tmp_path: Path) -> None:
    """Each of ours has a name of its own there, and what is there besides is computed."""
    theirs = models.published(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "run")
    ours = load(tmp_path / "run").module.state_dict()
    names = [marian.tensor_names(name)[0] for name in ours]
    assert len(set(names)) == len(names)
    assert set(names) | {marian.SHARED} >= {
        name for name, tensor in theirs.state_dict().items() if not marian.is_computed(name, tensor)
    }
    given = published.parameters(tmp_path / "published", marian.ARCHITECTURE)
    assert all(any(name in given for name in marian.tensor_names(one)) for one in ours)
