"""XLNet with every head: imported it is what transformers makes of it, exported as well; and its tokenizer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from saccade import systems
from saccade.data.examples import Pair, Splits
from saccade.data.tensors import PermutedInput
from saccade.errors import DataError
from saccade.exchange import encoder_tokenizers
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.layers.position_embeddings import sinusoids
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.training.run import Run
from saccade.training.settings import resolve
from saccade.writers.permuted import Config as Permuted

from ...systems.tiny import examples
from ..gpt_models import enliven
from ..many_lines import many_lines

transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

CLASSES = {
    "permuted": "XLNetLMHeadModel",
    "label": "XLNetForSequenceClassification",
    "tags": "XLNetForTokenClassification",
    "span": "XLNetForQuestionAnsweringSimple",
    "vector": "XLNetModel",
}
each = pytest.mark.parametrize("task", CLASSES)
TEXT = "To be, or not to be: that is the question. Héllo wörld -- unaffable ``cats'' sat on 12,000 mats in Zürich"
TEXTS = ["To be or not", "the question", "Héllo wörld, unaffable 你好!", "q", "cats that sat on  the mat . To be ``cats''"]
PAIRS = [("who sat ?", "cats sat on the mat"), ("be", "To be, or not to be: that is the question")]
SPECIAL = {"cls": "<cls>", "sep": "<sep>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
TOLERANCES = ((torch.float32, 1e-5), (torch.float64, 1e-10))


def learned(path: Path, texts: Sequence[str] = (TEXT,) * 3, size: int = 80) -> int:
    """A small spiece.model with the special pieces where XLNet has them; gives its size."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(path / "spiece"),
        vocab_size=size,
        hard_vocab_limit=False,
        control_symbols="<cls>,<sep>,<pad>,<mask>,<eod>",
        user_defined_symbols="<eop>",
        pad_id=-1,
        minloglevel=2,
    )
    (path / "spiece.vocab").unlink()
    return int(sentencepiece.SentencePieceProcessor(model_file=str(path / "spiece.model")).get_piece_size())


def published(path: Path, task: str = "permuted", *, files: bool = False, **over: Any) -> Any:
    """A directory as transformers writes it; gives the model."""
    path.mkdir(exist_ok=True)
    sizes = {"vocab_size": learned(path), "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24, "mem_len": 6}
    table: dict[str, Any] = {**sizes, "pad_token_id": 5, "id2label": {0: "O", 1: "B-cat", 2: "I-cat"}}
    table["label2id"] = {name: number for number, name in table["id2label"].items()}
    if task == "span":
        table.pop("id2label"), table.pop("label2id")
    model = getattr(transformers, CLASSES[task])(transformers.XLNetConfig(**{**table, **over})).eval()
    enliven(model, 0)
    model.save_pretrained(path)
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "XLNetTokenizer", "model_max_length": 40}))
    if not files:
        transformers.XLNetTokenizer.from_pretrained(path).save_pretrained(path)
        (path / "spiece.model").unlink()
    return model


def run(path: Path, task: str) -> TrainedModel:
    """A run of saccade's own that nobody trained."""
    sizes = "model.hidden_size=16 model.num_layers=2 model.num_heads=2 model.intermediate_size=24 reader.max_length=32"
    made = Run.create(path, resolve({"system": "xlnet", "task": task}, [*sizes.split(), "tokens.size=300"]))
    known = examples(*systems.sides("xlnet", task)).train
    fitted = Task.fit(made.settings, Splits(known, [], []))
    fitted.save(path)
    module = systems.load("xlnet").Model(made.settings.model, **fitted.sizes())
    enliven(module, 3)
    made.checkpoints.save(0, {"model": module.state_dict()}, {}, best=True)
    return load(path)


def opened(path: Path) -> Any:
    """The model that transformers makes of a directory, with nothing missing and nothing left over."""
    (name,) = json.loads((path / "config.json").read_text(encoding="utf-8"))["architectures"]
    model, report = getattr(transformers, name).from_pretrained(path, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    return model.eval()


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64 distances are encoded there in float32, and not to its precision: there they are ours."""
    original = transformers.XLNetModel.relative_positional_encoding

    def encoding(model: Any, queries: int, keys: int, bsz: int, device: Any = None) -> Tensor:
        if model.dtype != torch.float64:
            found: Tensor = original(model, queries, keys, bsz, device)
            return found
        table = sinusoids(1 - queries, keys + 1, model.d_model, halves=True).flip(0).double()
        return table[:, None].expand(-1, bsz, -1)

    monkeypatch.setattr(transformers.XLNetModel, "relative_positional_encoding", encoding)


def masks(input: Any, width: int) -> dict[str, Tensor]:
    """perm_mask and target_mapping of texts that are padded on the left: what is asked about sees all that is not."""
    B, shift = len(input.tokens), width - input.lengths
    closed, mapping = torch.zeros(B, width, width), torch.zeros(B, len(input.rows), width)
    for number, (row, place) in enumerate(zip(input.rows.tolist(), input.places.tolist(), strict=True)):
        closed[row, :, place + int(shift[row])] = 1
        mapping[row, number, place + int(shift[row])] = 1
    return {"perm_mask": closed, "target_mapping": mapping}


def compared(theirs: Any, model: TrainedModel, task: str, texts: list[Any], tokenizer: Any) -> None:
    """States and what the head makes of them, in both precisions; they pad on the left, we on the right."""
    read = [text if isinstance(text, str) else Pair(*text) for text in texts]
    batch = model.task.reader.encode(read).batch(range(len(read)))
    pairs = None if isinstance(texts[0], str) else [text[1] for text in texts]
    firsts = [text if isinstance(text, str) else text[0] for text in texts]
    given = dict(tokenizer(firsts, pairs, padding=True, return_tensors="pt", return_token_type_ids=True))
    there = given["attention_mask"].bool()
    here = torch.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    assert given["input_ids"][there].tolist() == batch.tokens[here].tolist()
    assert given["token_type_ids"][there].tolist() == batch.segments[here].tolist()
    assert not there[:, 0].all()
    for dtype, tolerance in TOLERANCES:
        theirs.to(dtype)
        model.module.to(dtype)
        close: dict[str, Any] = {"atol": tolerance, "rtol": tolerance}
        given["attention_mask"] = there.to(dtype)
        with torch.no_grad():
            wanted = theirs(**given, output_hidden_states=True)
            states = model.module.states(batch)
            assert wanted.hidden_states[-1][there].std() > 0.1
            torch.testing.assert_close(states[here], wanted.hidden_states[-1][there], **close)
            if task == "label":
                torch.testing.assert_close(model.module.logits(batch), wanted.logits, **close)
            elif task == "tags":
                at = batch.places + there.shape[1] - batch.lengths[batch.rows]
                torch.testing.assert_close(model.module.logits(batch), wanted.logits[batch.rows, at], **close)
            elif task == "span":
                both = torch.stack((wanted.start_logits, wanted.end_logits), -1)
                found = model.module.logits(batch)
                torch.testing.assert_close(found[:, 0], both[:, -1], **close)  # no answer: the class token's
                right = torch.zeros_like(found).masked_scatter(here[..., None], both[there])
                inside = found.isfinite() & (torch.arange(found.shape[1]) > 0)[:, None]
                assert inside.any(1).all()
                torch.testing.assert_close(found[inside], right[inside], **close)
            elif task == "permuted":
                extra = {name: one.to(dtype) for name, one in masks(batch, there.shape[1]).items()}
                logits = theirs(**given, **extra).logits[batch.rows, torch.arange(len(batch.rows))]
                torch.testing.assert_close(model.module.logits(batch), logits, **close)


def texts_for(task: str, mask: str = "<mask>") -> list[Any]:
    if task == "permuted":
        return [f"{text} {mask} and {mask} too" for text in TEXTS]
    return TEXTS if task != "span" else list(PAIRS)


@each
@pytest.mark.parametrize("files", [False, True], ids=["tokenizer.json", "spiece.model"])
def test_states_and_logits_are_those_of_transformers(task: str, files: bool, tmp_path: Path) -> None:
    theirs = published(tmp_path / "published", task, files=files)
    model = load(tmp_path / "published")
    tokenizer = transformers.XLNetTokenizer.from_pretrained(tmp_path / "published")
    compared(theirs, model, task, texts_for(task), tokenizer)
    assert (model.run.settings.task or "permuted") == task
    assert model.task.reader.config.max_length == 40
    if task == "permuted":
        assert model.run.settings.writer == Permuted(mem_len=6)
    elif task == "tags":
        assert model.task.writer.names == ["O", "B-cat", "I-cat"]
    elif task == "label":
        compared(theirs, model, task, list(PAIRS), tokenizer)


def test_a_training_batch_has_the_logits_of_transformers_with_memory(tmp_path: Path) -> None:
    """The order, the places and the memory of the writer's own batches."""
    theirs = published(tmp_path)
    model = load(tmp_path)
    text = examples("pieces", "permuted").train
    corpus = model.task.writer.corpus([*text] * 4)
    batch = corpus.batch(range(len(corpus.lengths))).input
    assert isinstance(batch, PermutedInput)
    assert set(batch.memory_lengths.tolist()) == {0, 6}
    for row, (size, past) in enumerate(zip(batch.lengths.tolist(), batch.memory_lengths.tolist(), strict=True)):
        if not (count := int((batch.ranks[row] > 0).sum())):
            continue  # nothing but an end token
        order = torch.zeros(size, dtype=torch.long).scatter(0, batch.asked[row, :count], batch.ranks[row, :count])
        seen = (order[None] < order[:, None]) | ((order[None] == 0) & (order[:, None] == 0))
        mapping = torch.nn.functional.one_hot(batch.asked[row, :count], size)
        tokens, segments = batch.tokens[row, None, :size], batch.segments[row, None, :size]
        before = batch.memory[row, None, 6 - past :]
        with torch.no_grad():
            mems = theirs(before, token_type_ids=torch.zeros_like(before), use_mems=True).mems if past else None
            given = {"perm_mask": (~seen)[None].float(), "target_mapping": mapping[None].float(), "mems": mems}
            wanted = theirs(tokens, token_type_ids=segments, **given).logits[0]
            found = model.module.logits(batch)[batch.rows == row]
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert len(batch.rows) > len(batch.tokens)


@each
def test_what_is_written_is_the_same_there_and_here_again(task: str, tmp_path: Path) -> None:
    """A run of saccade's own, and a published model: out, opened by transformers, and in again with the same bytes."""
    if task == "vector":
        published(tmp_path / "published", task)
        import_model(tmp_path / "published", tmp_path / "run")
        model, texts = load(tmp_path / "run"), texts_for(task)
    else:
        model, texts = run(tmp_path / "run", task), ["the red fox", "one bird sings . it sings"]
        texts = ["the [MASK] fox", "one bird [MASK] ."] if task == "permuted" else texts
    pairs: list[Any] = [["a red", "the bird runs ."], ["sun", "a"]]
    export(model, tmp_path / "out", "xlnet")
    theirs = opened(tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    compared(theirs.float(), model, task, pairs if task == "span" else texts, tokenizer)
    import_model(tmp_path / "out", tmp_path / "again")
    export(load(tmp_path / "again"), tmp_path / "twice", "xlnet")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (tmp_path / "twice" / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name


def test_published_parameters_come_out_as_they_went_in(tmp_path: Path) -> None:
    published(tmp_path / "published")
    import_model(tmp_path / "published", tmp_path / "run")
    export(load(tmp_path / "run"), tmp_path / "out", "xlnet")
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("published", "out"))
    assert {*before} == {*after}
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name


@pytest.mark.parametrize("lower", [False, True])
def test_spiece_model_is_read_as_there(lower: bool, tmp_path: Path) -> None:
    published(tmp_path, files=True)
    table = {"tokenizer_class": "XLNetTokenizer", "do_lower_case": lower}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(table))
    tokenizer, wanted = load(tmp_path).task.reader.tokenizer, transformers.XLNetTokenizer.from_pretrained(tmp_path)
    for text in (*TEXTS, "TO BE, Or not", "unAFFable\tcats\u200b", "e\u0301le\u0300ve", "ﬁne ½", "``x''", "  a  b "):
        assert tokenizer.encode(text) == wanted(text, add_special_tokens=False)["input_ids"], text
        decoded = wanted.decode(tokenizer.encode(text))
        assert tokenizer.decode(tokenizer.encode(text)) == decoded
    (tmp_path / "spiece.model").unlink()
    with pytest.raises(DataError, match=r"expected tokenizer.json or spiece.model, got neither"):
        load(tmp_path)


def test_ids_of_ten_thousand_lines_are_those_of_transformers(tmp_path: Path) -> None:
    texts = many_lines()
    size = learned(tmp_path, texts[::7], 900)
    ours, theirs = encoder_tokenizers.xlnet(tmp_path, size), transformers.XLNetTokenizer.from_pretrained(tmp_path)
    assert ours.encode_batch(texts) == theirs(texts, add_special_tokens=False)["input_ids"]
    assert size > 500


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"attn_type": "uni"}, "expected attn_type = 'bi', got 'uni'; only XLNet's own kind is read"),
        ({"clamp_len": 4}, "expected clamp_len = -1, got 4"),
        ({"summary_type": "first"}, "expected summary_type = 'last', got 'first'"),
        ({"d_head": 4}, "expected d_head = 8, got 4"),
        ({"n_head": 3}, "expected n_head to divide d_model, got 16 and 3"),
        ({"ff_activation": "tanh"}, "expected ff_activation one of gelu, .*, got 'tanh'"),
        ({"mem_len": -1}, "mem_len"),
        ({"vocab_size": 20}, "vocab_size: expected more than all ids, got 20"),
    ],
)
def test_a_config_of_another_kind_is_refused(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    published(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(DataError, match=told):
        load(tmp_path)


def test_missing_unknown_and_misshaped_tensors_are_listed(tmp_path: Path) -> None:
    published(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    save_file({**tensors, "adapter.weight": torch.zeros(2)}, file)
    with pytest.raises(DataError, match=r"got also adapter.weight"):
        load(tmp_path)
    save_file({name: one for name, one in tensors.items() if "layer.1.rel_attn" not in name}, file)
    with pytest.raises(DataError, match=r"expected tensors transformer.layer.1.rel_attn.r_w_bias, .* and 3 more"):
        load(tmp_path)
    save_file({name: one for name, one in tensors.items() if name != "transformer.mask_emb"}, file)
    with pytest.raises(DataError, match=r"expected a tensor transformer.mask_emb, got none"):
        load(tmp_path)
    name = "transformer.layer.0.rel_attn.q"
    save_file({**tensors, name: tensors[name][:, :1].contiguous()}, file)
    with pytest.raises(DataError, match=r"layer.0.rel_attn.q: expected \(16, 16\), got \(16, 8\)"):
        load(tmp_path)
    tied = tensors["transformer.word_embedding.weight"]
    save_file({**tensors, "lm_loss.weight": tied.clone()}, file)
    load(tmp_path)
    save_file({**tensors, "lm_loss.weight": tied + 1}, file)
    with pytest.raises(DataError, match=r"expected the numbers of transformer.word_embedding.weight in lm_loss.weight"):
        load(tmp_path)
