"""Models of GPT-2: imported they are what transformers makes of them, exported they are what they were here."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade.errors import DataError, UsageError
from saccade.exchange.exporting import export, report
from saccade.exchange.families import gpt2
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.search import Config as SearchConfig
from saccade.search import search
from saccade.trained import TrainedModel

from .. import gpt_models
from ..gpt_models import PROMPTS, log_probs, opened
from ..many_lines import many_lines

transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

VARIANTS: list[dict[str, Any]] = [
    {},
    {"n_inner": 64, "activation_function": "gelu_pytorch_tanh", "n_layer": 1, "n_head": 4},
    {"shards": "20KB", "seed": 5},
]


@pytest.fixture(params=VARIANTS, ids=lambda keys: "-".join(keys) or "plain")
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, TrainedModel]:
    """A published model and the run that it became."""
    theirs = gpt_models.published(tmp_path / "published", **request.param)
    import_model(tmp_path / "published", tmp_path / "run")
    return theirs, load(tmp_path / "run")


def rows_of(model: TrainedModel) -> list[list[int]]:
    rows: list[list[int]] = [model.task.reader.tokenizer.encode(prompt) for prompt in PROMPTS]
    assert len({len(row) for row in rows}) > 2
    return rows


def padded(rows: list[list[int]], pad: int, *, left: bool) -> dict[str, torch.Tensor]:
    """Prompts of different lengths as transformers takes them together."""
    longest = max(map(len, rows))
    gaps = [[pad] * (longest - len(row)) for row in rows]
    ids = [gap + row if left else row + gap for row, gap in zip(rows, gaps, strict=True)]
    marks = [
        [0] * len(gap) + [1] * len(row) if left else [1] * len(row) + [0] * len(gap)
        for row, gap in zip(rows, gaps, strict=True)
    ]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(marks)}


def test_log_probabilities_are_those_of_transformers(pair: tuple[Any, TrainedModel]) -> None:
    """All places, step by step from the cache, and the last in one pass; to the last places in float64."""
    theirs, model = pair
    ids = torch.randint(0, theirs.config.vocab_size, (4, 40), generator=torch.Generator().manual_seed(1))
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-10)):
        theirs.to(dtype)
        model.module.to(dtype)
        with torch.no_grad():
            wanted = theirs(ids).logits.log_softmax(-1)
            whole = model.module.prefill(ids, model.module.start(4)).log_probs[:, 0]
        assert wanted.std(1).max() > 0.1
        torch.testing.assert_close(log_probs(model, ids), wanted, atol=tolerance, rtol=tolerance)
        torch.testing.assert_close(whole, wanted[:, -1], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("beams", [1, 4])
def test_it_writes_what_transformers_generates(pair: tuple[Any, TrainedModel], beams: int) -> None:
    """Prompts of different lengths in one batch: padded on the left there, alone there, together here."""
    theirs, model = pair
    end, rows, length = theirs.config.eos_token_id, rows_of(model), 8
    ways: dict[str, Any] = {"num_beams": beams, "max_new_tokens": length, "do_sample": False, "pad_token_id": end}
    ways |= {"early_stopping": "never"} if beams > 1 else {}
    theirs, module = theirs.double(), model.module.double()
    together = theirs.generate(**padded(rows, end, left=True), **ways)[:, max(map(len, rows)) :].tolist()
    alone = [theirs.generate(torch.tensor([row]), **ways)[0, len(row) :].tolist() for row in rows]
    config = SearchConfig(method="beam", beam=beams, max_length=length)
    given: dict[str, Any] = {"start": [row[0] for row in rows], "prompts": [row[1:] for row in rows], "end": end}
    best = search(module, len(rows), config, inputs=len(rows), **given)
    found = [[*texts[0].tokens, *[end] * texts[0].finished] for texts in best]
    cut = [[row[: row.index(end) + 1] if end in row else row for row in side] for side in (together, alone)]
    assert cut[0] == cut[1] == found
    assert len(set(map(tuple, found))) > 2


def test_prompts_padded_on_the_right_have_the_same_probabilities(pair: tuple[Any, TrainedModel]) -> None:
    theirs, model = pair
    rows = rows_of(model)
    with torch.no_grad():
        logits = theirs(**padded(rows, theirs.config.eos_token_id, left=False)).logits.log_softmax(-1)
    for row, wanted in zip(rows, logits, strict=True):
        torch.testing.assert_close(log_probs(model, torch.tensor([row]))[0], wanted[: len(row)], atol=1e-5, rtol=1e-5)


def test_a_model_without_the_prefix_and_with_stored_masks_is_the_same(tmp_path: Path) -> None:
    theirs = gpt_models.published(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = {name.removeprefix("transformer."): tensor for name, tensor in load_file(file).items()}
    tensors["h.0.attn.bias"] = torch.ones(40, 40).tril()[None, None].to(torch.uint8)
    tensors |= {"h.0.attn.masked_bias": torch.tensor(-1e4), "lm_head.weight": tensors["wte.weight"].clone()}
    save_file(tensors, file)
    import_model(tmp_path, tmp_path / "run")
    model = load(tmp_path / "run")
    ids = torch.arange(12)[None]
    with torch.no_grad():
        torch.testing.assert_close(log_probs(model, ids), theirs(ids).logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
    save_file({**tensors, "h.0.attn.bias": torch.ones(1, 1, 40, 40)}, file)
    with pytest.raises(DataError, match=r"expected a causal mask in h.0.attn.bias, got another"):
        import_model(tmp_path, tmp_path / "other")


def test_joint_and_transposed_tensors_are_taken_apart(pair: tuple[Any, TrainedModel]) -> None:
    theirs, model = pair
    layer, block = model.module.layers[0], theirs.transformer.h[0]
    own = [getattr(layer.mixer.attention, f"{name}_map") for name in ("query", "key", "value")]
    for part, linear in enumerate(own):
        width = slice(16 * part, 16 * (part + 1))
        assert torch.equal(linear.weight, block.attn.c_attn.weight[:, width].t())
        assert torch.equal(linear.bias, block.attn.c_attn.bias[width])
    assert torch.equal(layer.network.into.weight, block.mlp.c_fc.weight.t())
    assert model.run.settings.writer.context_length == theirs.config.n_positions


# There and back


def files_of(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_what_was_imported_is_exported_and_imported_to_the_same_bytes(
    pair: tuple[Any, TrainedModel], tmp_path: Path
) -> None:
    theirs, model = pair
    export(model, tmp_path / "out", "gpt2")
    again = opened(tmp_path / "out")
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    import_model(tmp_path / "out", tmp_path / "second")
    other = load(tmp_path / "second")
    export(other, tmp_path / "out2", "gpt2")
    assert files_of(tmp_path / "out2") == files_of(tmp_path / "out")
    assert (tmp_path / "second" / "tokenizer.json").read_bytes() == (model.run.path / "tokenizer.json").read_bytes()
    assert other.file.read_bytes() == model.file.read_bytes()
    assert other.run.settings.search == model.run.settings.search


@pytest.mark.parametrize("lower", ["false", "true"])
def test_a_learned_run_is_the_same_in_transformers(lower: str, tmp_path: Path) -> None:
    text = gpt_models.TEXT + "<de> To Be <en> not\n"
    model = gpt_models.run(tmp_path / "run", f"tokens.lower={lower}", text=text)
    export(model, tmp_path / "out", "gpt2")
    theirs, tokenizer = opened(tmp_path / "out"), transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    own = model.task.reader.tokenizer
    for line in [*PROMPTS, text, "<de> To be", "<fr>\n\n  x"]:
        assert tokenizer(line).input_ids == own.encode(line)
    ids = torch.tensor([own.encode(text)[:24]])
    with torch.no_grad():
        torch.testing.assert_close(log_probs(model, ids), theirs(ids).logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
    assert theirs.config.bos_token_id == theirs.generation_config.bos_token_id == own.vocabulary.end
    assert tokenizer.eos_token_id == tokenizer.bos_token_id == own.vocabulary.end
    made = theirs.generate(torch.tensor([own.encode("to be")]))[0, len(own.encode("to be")) :].tolist()
    assert made == search_row(model, "to be")
    import_model(tmp_path / "out", tmp_path / "again")
    again = load(tmp_path / "again")
    assert again.predict("to be", max_length=9).text == model.predict("to be", max_length=9).text
    assert again.task.writer.banned == model.task.writer.banned


def search_row(model: TrainedModel, prompt: str) -> list[int]:
    writer, row = model.task.writer, model.task.reader.tokenizer.encode(prompt)
    given = {"start": row[0], "prompts": [row[1:]], "end": writer.vocabulary.end, "banned": writer.banned}
    (texts,) = search(model.module, 1, model.run.settings.search or SearchConfig(), inputs=1, **given)
    return [*texts[0].tokens, *[writer.vocabulary.end] * texts[0].finished]


def test_other_tokens_and_masks_are_refused_before_training(tmp_path: Path) -> None:
    model = gpt_models.run(tmp_path / "run", "tokens.kind=char")
    told = report(model.run.settings)
    assert "gpt2 needs tokens.kind=bpe" in told
    with pytest.raises(UsageError, match=r"format gpt2 needs tokens.kind=bpe, got char; train with that"):
        export(model, tmp_path / "out", "gpt2")
    other = gpt_models.run(tmp_path / "masked", "model.mask=strided(4)")
    assert "gpt2 needs model.mask=none" in report(other.run.settings)


# Tokenizers


@pytest.mark.parametrize("whole", [False, True], ids=["vocabulary-and-merges", "tokenizer.json"])
def test_ids_of_ten_thousand_lines_are_those_of_transformers(whole: bool, tmp_path: Path) -> None:
    texts = many_lines()
    assert len(texts) == 10_000
    backend = gpt_models.byte_pairs(texts[::7], 1500)
    gpt_models.write_tokenizer(backend, tmp_path)
    if whole:
        backend.save(str(tmp_path / "tokenizer.json"))
        (tmp_path / "vocab.json").unlink()
    end = backend.get_vocab()[gpt_models.END]
    config = gpt2.GPT2Config(vocab_size=backend.get_vocab_size(), bos_token_id=end, eos_token_id=end)
    ours = gpt2._tokenizer(tmp_path, config, ())
    theirs = transformers.GPT2TokenizerFast.from_pretrained(tmp_path)
    assert ours.encode_batch(texts) == theirs(texts).input_ids
    assert [ours.decode(row) for row in ours.encode_batch(texts[-50:])] == texts[-50:]
    assert ours.vocabulary.start == ours.vocabulary.end == theirs.eos_token_id


def test_ids_without_a_token_are_never_written(tmp_path: Path) -> None:
    gpt_models.published(tmp_path, vocab_size=400)
    model = load(tmp_path)
    known = model.task.reader.tokenizer.vocabulary
    assert known.size == 400
    assert set(model.task.writer.banned) == {*range(gpt_models.byte_pairs([gpt_models.TEXT]).get_vocab_size(), 400)}


# What cannot be done is told in one line


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"layer_norm_epsilon": 1e-6}, "expected layer_norm_epsilon = 1e-05, got 1e-06"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = False, got True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings = True, got False"),
        ({"activation_function": "relu"}, "expected activation_function gelu_new or gelu_pytorch_tanh, got 'relu'"),
        ({"n_inner": 63}, "expected n_inner = 4 · n_embd, got 63"),
        ({"n_head": 3}, "expected n_head to divide n_embd, got 16 and 3"),
        ({"n_head": "2"}, "n_head: it should be a valid integer, got '2'"),
        ({"embd_pdrop": 0.3}, "expected resid_pdrop = embd_pdrop, got 0.1 and 0.3"),
        ({"eos_token_id": 999}, "eos_token_id: expected an id below"),
        ({"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 0}, "vocab_size: expected more than all ids, got 300"),
        ({"n_layer": 1}, "got also transformer.h.1.attn.c_attn.bias, transformer.h.1.attn.c_attn.weight"),
        ({"n_layer": 1}, "and 4 more; no fix is known"),
        ({"n_layer": 3}, "expected tensors transformer.h.2.attn.c_attn.weight"),
        ({"n_positions": 41}, "transformer.wpe.weight: expected (41, 16), got (40, 16)"),
        ({"n_embd": 8}, "expected ("),
    ],
)
def test_a_config_that_is_not_of_these_weights_is_refused(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    gpt_models.published(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **keys}))
    with pytest.raises(DataError) as told:
        import_model(tmp_path, tmp_path / "run")
    assert words in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda one: one.pop("transformer.ln_f.bias"), "expected a tensor transformer.ln_f.bias, got none"),
        (lambda one: one.update(extra=torch.zeros(1)), "got some without, such as extra"),
        (lambda one: one.update({"transformer.x": torch.zeros(1)}), "got also transformer.x; no fix"),
        (lambda one: one.update({"lm_head.weight": torch.zeros(2, 2)}), "the numbers of wte.weight in lm_head.weight"),
    ],
)
def test_tensors_that_are_missing_or_unknown_are_named(spoil: Any, words: str, tmp_path: Path) -> None:
    gpt_models.published(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    spoil(tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(DataError) as told:
        import_model(tmp_path, tmp_path / "run")
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("merges.txt", None, "expected tokenizer.json, or vocab.json and merges.txt, got neither"),
        ("merges.txt", "#version: 0.2\na b c\n", "merges.txt:2: expected two tokens of the vocabulary"),
        ("merges.txt", "t o\nzz o\n", "merges.txt:2: expected two tokens of the vocabulary"),
        ("tokenizer_config.json", '{"add_prefix_space": true}', "expected add_prefix_space = False, got True"),
    ],
)
def test_a_tokenizer_that_is_none_is_refused(file: str, content: str | None, words: str, tmp_path: Path) -> None:
    gpt_models.published(tmp_path)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    with pytest.raises(DataError) as told:
        load(tmp_path)
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_a_tokenizer_of_another_kind_is_refused(tmp_path: Path) -> None:
    from ..models import tokenizer_of_words

    gpt_models.published(tmp_path)
    tokenizer_of_words().save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(DataError, match=r"expected byte pairs \(BPE, decoded by ByteLevel\), got WordLevel"):
        load(tmp_path)
