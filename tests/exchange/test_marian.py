"""Models of Marian: imported they are what transformers makes of them, exported they are what they were here."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.data.examples import Pair
from saccade.data.tokenizers import END, PAD, START, UNKNOWN
from saccade.errors import DataError, UsageError
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_marian
from saccade.search import Config as SearchConfig
from saccade.training.trained import Trained

from . import models
from .models import SOURCES, lively, logits, published, written

transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

# With seeds by which texts differ and most of them end.
VARIANTS: list[dict[str, Any]] = [
    {"seed": 4},
    {"seed": 0, "activation_function": "relu", "scale_embedding": False},
    {"seed": 1, "share_encoder_decoder_embeddings": False},
    {"seed": 0, "tie_word_embeddings": False, "share_encoder_decoder_embeddings": False},
    {"seed": 12, "encoder_layers": 1, "decoder_layers": 3, "activation_function": "gelu", "decoder_start_token_id": 0},
]


@pytest.fixture(params=VARIANTS, ids=lambda keys: "-".join(keys))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Trained]:
    """A published model and the run that it became."""
    theirs = published(tmp_path / "published", **request.param)
    import_marian(tmp_path / "published", tmp_path / "run")
    return theirs, Trained.open(tmp_path / "run")


def their_ids(trained: Trained) -> Tensor:
    """The published id of each of ours; START, which has none of its own, has that of the token it is a copy of."""
    backend = models.tokenizer_of_words()
    names = {0: "<pad>", 2: "</s>", 3: "<unk>"}
    found = [backend.token_to_id(names.get(index, token)) for index, token in enumerate(trained.task.target.tokens())]
    return torch.tensor([0 if index is None else index for index in found])


def read(texts: list[str]) -> dict[str, Tensor]:
    """Sources as transformers reads them."""
    backend = models.tokenizer_of_words()
    rows = [backend.encode(text).ids for text in texts]
    longest, pad = max(map(len, rows)), backend.token_to_id("<pad>")
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    return {
        "input_ids": ids,
        "attention_mask": torch.tensor([[i < len(row) for i in range(longest)] for row in rows]).long(),
    }


def sources(trained: Trained) -> list[list[int]]:
    """The same as our model reads them."""
    return list(trained.task.corpus([Pair(text, "w1") for text in SOURCES]).sources)


def compare(theirs: Any, trained: Trained, tolerance: float) -> None:
    """Log-probabilities of every token but START, which is not theirs, at nine places of every source."""
    ids = their_ids(trained)
    before = torch.randint(END + 1, len(ids), (len(SOURCES), 9))
    before[:, 0] = START
    given = ids[before]
    given[:, 0] = theirs.config.decoder_start_token_id
    with torch.no_grad():
        wanted = theirs(**read(SOURCES), decoder_input_ids=given).logits.log_softmax(-1)[..., ids]
    found = logits(trained.model, sources(trained), before)
    others = [index for index in range(len(ids)) if index != START]
    torch.testing.assert_close(found[..., others], wanted[..., others], atol=tolerance, rtol=0)
    assert wanted[..., others].std(1).max() > 0.01  # from place to place: what stands there makes a difference
    assert found[..., START].max() < -1000  # a copy takes no share of the probability


@pytest.mark.parametrize("keys", VARIANTS, ids=lambda keys: "-".join(keys))
def test_imported_logits_are_those_of_transformers(keys: dict[str, Any], tmp_path: Path) -> None:
    theirs = published(tmp_path / "published", loud=False, **keys)
    import_marian(tmp_path / "published", tmp_path / "run")
    compare(theirs, Trained.open(tmp_path / "run"), 1e-4)


def test_imported_logits_are_the_same_to_the_last_places(pair: tuple[Any, Trained]) -> None:
    """Weights so large that they multiply rounding errors; in float64 these are small all the same."""
    theirs, trained = pair
    trained.model.double()
    compare(theirs.double(), trained, 1e-9)


@pytest.mark.parametrize("beams", [1, 5])
def test_imported_models_write_what_transformers_generates(pair: tuple[Any, Trained], beams: int) -> None:
    theirs, trained = pair
    ids = their_ids(trained).tolist()
    ours = {theirs_id: index for index, theirs_id in enumerate(ids) if index != START}
    ways: dict[str, Any] = {"num_beams": beams, "max_length": 31, "do_sample": False, "length_penalty": 1.0}
    banned = [[theirs.config.pad_token_id]]
    made = theirs.generate(
        **read(SOURCES), **ways, bad_words_ids=banned, **({"early_stopping": "never"} if beams > 1 else {})
    )
    wanted = [[ours[index] for index in row[1:] if ours[index] != PAD] for row in made.tolist()]
    found = written(trained.model, sources(trained), SearchConfig(method="beam", beam=beams, max_length=30))
    # Of texts that the limit cuts off, transformers returns one only where no other has ended; ours are ranked alike.
    compared = [(one, other) for one, other in zip(found, wanted, strict=True) if beams == 1 or {*one} & {*other} & {END}]
    assert [one for one, _ in compared] == [other for _, other in compared]
    assert lively([one for one, _ in compared])
    assert len(compared) > 3


def test_a_source_ends_as_its_tokenizer_ends_it(tmp_path: Path) -> None:
    published(tmp_path / "published")
    import_marian(tmp_path / "published", tmp_path / "run")
    trained = Trained.open(tmp_path / "run")
    assert trained.run.settings.task.source_ends == "end"
    assert all(row[-1] == END for row in sources(trained))
    scene = trained.look(["w1 w2"]).scenes[0]
    assert scene.axes["source"].labels == ["w1", "w2", "</s>"]
    assert scene.looks[0].weights.shape[-1] == 3


def opened(path: Path) -> Any:
    """The model that transformers makes of a directory, with nothing missing and nothing left over."""
    model, report = transformers.MarianMTModel.from_pretrained(path, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return model.eval()


EXPORTED = [{}, {"embeddings": "one"}, {"embeddings": "output", "activation": "gelu"}, {"embedding_scale": "one"}]


@pytest.mark.parametrize("keys", EXPORTED, ids=lambda keys: "-".join(keys.values()) or "separate")
@pytest.mark.parametrize("bias", ["learned", "none"])
def test_an_exported_run_has_the_same_logits_in_transformers(keys: dict[str, str], bias: str, tmp_path: Path) -> None:
    form: dict[str, Any] = {"final_norm": "none", "positions": "sinusoidal_halves", "output_bias": bias, **keys}
    shared = keys.get("embeddings") == "one"
    models.run(tmp_path / "run", task={"shared": shared}, **form)
    export(tmp_path / "run", tmp_path / "out", "marian")
    theirs, trained = opened(tmp_path / "out"), Trained.open(tmp_path / "run")
    rows = sources(trained)
    before = torch.randint(END + 1, trained.task.target.size, (len(rows), 7))
    before[:, 0] = theirs.config.decoder_start_token_id
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
    with torch.no_grad():
        wanted = theirs(input_ids=ids, attention_mask=ids.ne(PAD).long(), decoder_input_ids=before).logits
    torch.testing.assert_close(logits(trained.model, rows, before), wanted.log_softmax(-1), atol=1e-4, rtol=2e-7)
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(
        tmp_path / "out", tokenizer_file=str(tmp_path / "out" / ("tokenizer.json" if shared else "source.tokenizer.json"))
    )
    assert [tokenizer(text).input_ids for text in SOURCES] == rows


@pytest.mark.parametrize("shared", [True, False])
def test_what_was_exported_can_be_imported_again(shared: bool, tmp_path: Path) -> None:
    form: dict[str, Any] = {"final_norm": "none", "positions": "sinusoidal_halves", "embeddings": "output"}
    models.run(tmp_path / "run", steps=models.DOZENS, task={"shared": shared}, **form)
    export(tmp_path / "run", tmp_path / "out", "marian")
    import_marian(tmp_path / "out", tmp_path / "again")
    one, other = Trained.open(tmp_path / "run"), Trained.open(tmp_path / "again")
    assert other.task.sizes() == one.task.sizes()
    for name, tensor in one.model.state_dict().items():
        assert torch.equal(other.model.state_dict()[name], tensor), name
    assert other.run.settings.search == one.run.settings.search
    answers = one.predict(SOURCES)
    assert other.predict(SOURCES) == answers
    assert len(set(answers)) > 1


def test_what_was_imported_can_be_exported_again(tmp_path: Path) -> None:
    theirs = published(tmp_path / "published", seed=1)
    import_marian(tmp_path / "published", tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out", "marian")
    again = opened(tmp_path / "out")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "out")
    ids = torch.tensor([tokenizer(SOURCES[2]).input_ids])
    assert ids[0, -1] == END
    with torch.no_grad():
        wanted = theirs.generate(**read(SOURCES[2:3]), num_beams=1, max_length=30, bad_words_ids=[[26]], do_sample=False)
        found = again.generate(input_ids=ids, num_beams=1, max_length=30, do_sample=False)
    backend = models.tokenizer_of_words()
    assert tokenizer.convert_ids_to_tokens(found[0, 1:]) == [backend.id_to_token(index) for index in wanted[0, 1:].tolist()]
    assert len(found[0]) > 2


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
    models.run(tmp_path / "run", searching=words, **MARIAN)
    export(tmp_path / "run", tmp_path / "out", "marian")
    table = models.told(tmp_path / "out" / "generation_config.json")
    transformers.GenerationConfig(**table).save_pretrained(tmp_path / "one")
    opened(tmp_path / "out").save_pretrained(tmp_path / "all")
    for path in (tmp_path / "one", tmp_path / "all"):
        saved = models.told(path / "generation_config.json")
        assert {key: saved[key] for key in table} == table
    import_marian(tmp_path / "out", tmp_path / "again")
    again, wanted = Trained.open(tmp_path / "again").run.settings.search, SearchConfig(**{"max_length": 39, **words})
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
    published(tmp_path / "published")
    words = {"do_sample": True, "temperature": None, "top_p": 0.8, "max_length": 20}
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps(words))
    import_marian(tmp_path / "published", tmp_path / "run")
    found = Trained.open(tmp_path / "run").run.settings.search
    assert (found.method, found.temperature, found.top_k, found.top_p, found.max_length) == ("sample", 1.0, 50, 0.8, 19)


def test_no_more_is_written_than_there_are_places(tmp_path: Path) -> None:
    """Published files often allow 512 tokens, whatever the table of positions holds; behind its end, transformers fails."""
    theirs = published(tmp_path / "published", max_position_embeddings=12)
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps({"max_length": 512, "num_beams": 1}))
    import_marian(tmp_path / "published", tmp_path / "run")
    trained = Trained.open(tmp_path / "run")
    assert trained.run.settings.search.max_length == 11
    with pytest.raises(IndexError), torch.no_grad():
        theirs(**read([" ".join(["w1"] * 12)]), decoder_input_ids=torch.tensor([[26]]))
    with pytest.raises(DataError, match="12 tokens, at most 11 expected"):
        trained.predict([" ".join(["w1"] * 12)])
    full = " ".join(["w1", "w5", "w2"] * 3 + ["w7", "w3"])  # eleven words and the end: as many as there are places
    before = torch.randint(END + 1, 27, (1, 12))
    before[:, 0] = START
    ids = their_ids(trained)
    given = ids[before]
    given[:, 0] = theirs.config.decoder_start_token_id
    with torch.no_grad():
        wanted = theirs(**read([full]), decoder_input_ids=given).logits.log_softmax(-1)[..., ids]
    rows = [[*trained.task.source.encode(full), END]]
    assert len(rows[0]) == 12
    torch.testing.assert_close(logits(trained.model, rows, before)[..., END:], wanted[..., END:], atol=1e-4, rtol=0)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_banned_words_are_not_written_as_transformers_does_not(seed: int, tmp_path: Path) -> None:
    theirs = published(tmp_path / "published", seed=seed)
    free = theirs.generate(**read(SOURCES), num_beams=1, max_length=20, bad_words_ids=[[26]])
    counts = torch.bincount(free.flatten(), minlength=27)
    banned = [int(index) for index in counts.argsort(descending=True) if int(index) not in (0, 26)][:2]
    assert all(counts[index] > 0 for index in banned)
    table = {"max_length": 20, "num_beams": 1, "bad_words_ids": [[26], *([index] for index in banned)]}
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps(table))
    import_marian(tmp_path / "published", tmp_path / "run")
    trained = Trained.open(tmp_path / "run")
    wanted = theirs.generate(**read(SOURCES), **table)
    assert not {*wanted[:, 1:].flatten().tolist()} & {*banned}
    ids = their_ids(trained).tolist()
    ours = {index: place for place, index in enumerate(ids) if place != START}
    found = written(trained.model, sources(trained), trained.run.settings.search)
    assert found == [[ours[index] for index in row[1:] if ours[index] != PAD] for row in wanted.tolist()]


def test_a_ban_of_several_tokens_is_refused(tmp_path: Path) -> None:
    published(tmp_path / "published")
    (tmp_path / "published" / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[26], [4, 5]]}))
    with pytest.raises(DataError, match=r"bad_words_ids: expected single tokens, got \[4, 5\]; fix: ") as told:
        import_marian(tmp_path / "published", tmp_path / "run")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


def test_special_tokens_are_written_and_kept_from_being_written(tmp_path: Path) -> None:
    """A run without biases has none that make PAD and START unlikely: what the files say must keep them out."""
    models.run(tmp_path / "run", seed=2, steps=40, output_bias="none", searching={"method": "greedy"}, **MARIAN)
    export(tmp_path / "run", tmp_path / "out", "marian")
    theirs, trained = opened(tmp_path / "out"), Trained.open(tmp_path / "run")
    for config in (theirs.config, theirs.generation_config):
        special = (config.pad_token_id, config.bos_token_id, config.eos_token_id, config.decoder_start_token_id)
        assert special == (PAD, START, END, START)
    assert theirs.generation_config.forced_eos_token_id is None
    assert theirs.generation_config.bad_words_ids == [[PAD], [START]]
    with torch.no_grad():  # the likeliest of all, were they not kept out
        theirs.final_logits_bias[0, : START + 1] = 50.0
    rows = sources(trained)
    ids = torch.tensor([[*row, *[PAD] * (max(map(len, rows)) - len(row))] for row in rows])
    made = theirs.generate(input_ids=ids, attention_mask=ids.ne(PAD).long())
    assert (made[:, 0] == START).all()
    wanted = written(trained.model, rows, trained.run.settings.search)
    found = [row[1:].tolist() for row in made]
    assert [row[: row.index(END) + 1] if END in row else row for row in found] == wanted
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "out")
    names = [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id]
    assert names == [PAD, START, END, UNKNOWN]
    assert tokenizer("w1 nobody w2").input_ids[1] == UNKNOWN


def test_places_are_as_many_as_can_be_read_and_written(tmp_path: Path) -> None:
    """The longest source with its end, and the longest text with its start, have the same numbers there; one more fails."""
    longest = 9
    models.run(tmp_path / "run", task={"source_ends": "end", "longest": longest}, searching={"max_length": 7}, **MARIAN)
    export(tmp_path / "run", tmp_path / "out", "marian")
    theirs, trained = opened(tmp_path / "out"), Trained.open(tmp_path / "run")
    assert theirs.config.max_position_embeddings == longest + 1
    row = [*torch.randint(4, trained.task.source.size, (longest,)).tolist(), END]
    before = torch.randint(4, trained.task.target.size, (1, 8))
    before[:, 0] = START
    with torch.no_grad():
        wanted = theirs(input_ids=torch.tensor([row]), decoder_input_ids=before).logits.log_softmax(-1)
    torch.testing.assert_close(logits(trained.model, [row], before), wanted, atol=1e-4, rtol=2e-7)
    with pytest.raises(IndexError), torch.no_grad():
        theirs(input_ids=torch.tensor([[*row, END]]), decoder_input_ids=before)


# What cannot be done is told in one line


def test_weights_that_could_run_code_are_not_opened(tmp_path: Path) -> None:
    published(tmp_path / "published")
    (tmp_path / "published" / "model.safetensors").rename(tmp_path / "published" / "pytorch_model.bin")
    with pytest.raises(
        DataError, match=r"expected model.safetensors, got pytorch_model.bin.*; convert it: python -c"
    ) as told:
        import_marian(tmp_path / "published", tmp_path / "run")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"model_type": "bart"}, "model_type = 'marian', got 'bart'"),
        ({"normalize_before": True}, "normalize_before = False, got True"),
        ({"activation_function": "tanh"}, "activation_function one of relu, swish, silu, gelu, got 'tanh'"),
        ({"encoder_ffn_dim": 20}, "encoder_ffn_dim = decoder_ffn_dim, got 20 and 24"),
        ({"encoder_layers": 1}, "got also model.encoder.layers.1"),
        ({"decoder_layers": 3}, "expected a tensor model.decoder.layers.2"),
        ({"eos_token_id": 99}, "ids below 27"),
    ],
)
def test_a_config_that_is_not_of_these_weights_is_refused(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    published(tmp_path)
    table = models.told(tmp_path / "config.json")
    (tmp_path / "config.json").write_text(json.dumps({**table, **keys}))
    with pytest.raises(DataError) as told:
        import_marian(tmp_path, tmp_path / "run")
    assert words in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"norm": "pre"}, "--format marian needs model.norm=post, got pre; train with that, or export with --format ct2"),
        ({"final_norm": "both"}, "model.final_norm=none, got both"),
        ({"positions": "learned"}, "model.positions=sinusoidal_halves, got learned"),
        ({"normalize": "entmax15"}, "model.normalize=softmax, got entmax15"),
    ],
)
def test_a_run_that_marian_cannot_be_is_refused(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    models.run(tmp_path / "run", **{"final_norm": "none", "positions": "sinusoidal_halves", **keys})
    with pytest.raises(UsageError) as told:
        export(tmp_path / "run", tmp_path / "out", "marian")
    assert words in str(told.value)
    assert not (tmp_path / "out").exists()
