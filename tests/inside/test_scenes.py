"""A look into any model: looks that say what they are, between places that are named, of what was read and written."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import saccade
from saccade.errors import UnknownName, UsageError
from saccade.inside.attribution import LogitSource
from saccade.inside.runs import ModelRun

from .families import LAYERS, TEXT, inputs, model, tokenizer

PAIR = [f"{kind}, layer {number}" for number in (1, 2) for kind in ("decoder self-attention", "cross-attention")]


def test_a_text_that_is_read() -> None:
    own = model("bert")
    shown = saccade.look(own, tokenizer(), TEXT, rollout=True, flow=True)
    assert shown.looks == ["self-attention, layer 1", "self-attention, layer 2", "attention rollout", "attention flow"]
    assert np.allclose(shown.weights("attention flow").sum(-1), 1, atol=1e-5)
    assert shown.heads().texts == 1
    some = saccade.look(own, tokenizer(), TEXT, layers=[2])  # which keeps its number
    assert np.array_equal(some.weights(layer=2, head=3), shown.weights(layer=2, head=3))
    (scene,) = shown.scenes
    assert list(scene.axes["input"].labels) == TEXT.split()
    ids = torch.tensor([tokenizer()(TEXT)["input_ids"]])
    with torch.no_grad():
        expected = model("bert", "eager")(ids, output_attentions=True).attentions
    assert np.allclose(shown.weights("self-attention, layer 2", head=3), expected[1][0, 3], atol=1e-5)
    assert [look.kind for look in scene.looks] == ["attention", "attention", "rollout", "flow"]
    assert "the" in str(shown)
    assert "<iframe" in shown._repr_html_()


def test_several_texts_and_chosen_layers() -> None:
    shown = saccade.look(model("bert"), tokenizer(), [TEXT, ("the cat", "the mat")], layers=[2])
    assert shown.looks == ["self-attention, layer 2"]
    assert [scene.title for scene in shown.scenes] == [TEXT, "the cat / the mat"]
    assert list(shown.scenes[1].axes["input"].labels) == ["the", "cat", "the", "mat"]


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", ["gpt2", "mistral"])
def test_a_text_that_is_written(name: str, beams: int) -> None:
    """A row for each token written, equal to that of the whole text read at once, and its probability."""
    own = model(name)
    shown = saccade.look(own, tokenizer(), TEXT, max_new_tokens=4, num_beams=beams)
    (scene,) = shown.scenes
    assert shown.looks == ["self-attention, layer 1", "self-attention, layer 2"]
    output, written = scene.axes["output"], scene.axes["written"]
    assert len(output.labels) == 4
    assert list(written.labels) == [*TEXT.split(), *output.labels[:-1]]
    ids = torch.tensor([tokenizer().convert_tokens_to_ids(list(written.labels))])
    with torch.no_grad():
        whole = model(name, "eager")(ids, output_attentions=True)
    assert np.allclose(scene.looks[1].weights, whole.attentions[1][0, :, -4:], atol=1e-5)
    tokens = tokenizer().convert_tokens_to_ids(list(output.labels))
    chances = whole.logits[0, -4:].softmax(-1)[torch.arange(4), tokens]
    assert output.probabilities is not None
    assert np.allclose(output.probabilities, chances, atol=1e-5)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_model_that_reads_and_writes(name: str) -> None:
    shown = saccade.look(model(name), tokenizer(), TEXT, max_new_tokens=3)
    (scene,) = shown.scenes
    encoder = [f"encoder self-attention, layer {number + 1}" for number in range(LAYERS)]
    assert shown.looks == [*encoder, *PAIR]
    sides = {look.name: (look.queries, look.keys, look.weights.shape) for look in scene.looks}
    assert sides["encoder self-attention, layer 1"] == ("input", "input", (4, 6, 6))
    assert sides["decoder self-attention, layer 1"] == ("output", "written", (4, 3, 3))
    assert sides["cross-attention, layer 2"] == ("output", "input", (4, 3, 6))
    assert all(np.allclose(look.weights.sum(-1), 1, atol=1e-5) for look in scene.looks)
    given = saccade.look(model(name), tokenizer(), TEXT, target="the cat")
    assert given.looks == shown.looks
    assert list(given.scenes[0].axes["written"].labels)[1:] == ["the"]


def test_a_picture() -> None:
    """The class token asks, the patches of the picture are looked at."""
    pixels = {"pixel_values": inputs("vit")["pixel_values"][:1]}
    shown = saccade.look(model("vit"), pixels, attributions=["gradient × input"], rollout=True)
    (scene,) = shown.scenes
    assert (scene.axes["picture"].grid, list(scene.axes["class token"].labels)) == ((4, 4), ["[CLS]"])
    with torch.no_grad():
        expected = model("vit", "eager")(**pixels, output_attentions=True).attentions
    assert np.allclose(scene.looks[0].weights, expected[0][0, :, :1, 1:], atol=1e-5)
    assert scene.looks[-1].kind == "attribution"
    assert (scene.looks[-1].queries, scene.looks[-1].keys) == ("prediction", "picture")


def test_sound() -> None:
    features = {"input_features": inputs("whisper")["input_features"][:1]}
    shown = saccade.look(model("whisper"), features, max_new_tokens=3)
    (scene,) = shown.scenes
    assert list(scene.axes["input"].labels)[:2] == ["0.00 s", "0.02 s"]
    assert "cross-attention, layer 2" in shown.looks
    look = next(look for look in scene.looks if look.name == "cross-attention, layer 2")
    assert look.weights.shape == (4, 3, 20)


def test_any_torch_model() -> None:
    own = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)
    shown = saccade.look(own, (torch.randn(1, 3, 16), torch.randn(1, 2, 16)), labels={"input": "abc", "output": ["x", "y"]})
    assert own.training, "the model is as it was"
    assert shown.looks == ["encoder self-attention, layer 1", "decoder self-attention, layer 1", "cross-attention, layer 1"]
    assert (list(shown.scenes[0].axes["input"].labels), list(shown.scenes[0].axes["output"].labels)) == (
        ["a", "b", "c"],
        ["x", "y"],
    )
    unnamed = saccade.look(nn.TransformerEncoderLayer(16, 4, 32), torch.randn(5, 16))
    assert list(unnamed.scenes[0].axes["input"].labels) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"input": "ab", "output": "xy"}, "labels: expected 3 labels for the 3 tokens of 'input', got 2"),
        ({"output": "xyz"}, "labels: expected 2 labels for the 2 tokens of 'output', got 3"),
        ([], "labels: expected 3 labels for the 3 tokens of 'input', got 0"),
        ({"inputs": "abc"}, "unknown axis in labels 'inputs'; did you mean 'input'?"),
        (3, "labels: expected a list of labels for the places of 'input', got int"),
    ],
)
def test_labels_that_name_nothing_are_refused(labels: Any, message: str) -> None:
    own = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)
    with pytest.raises(UsageError, match=re.escape(message)):
        saccade.look(own, (torch.randn(1, 3, 16), torch.randn(1, 2, 16)), labels=labels)


def test_labels_of_what_a_model_does_not_have_are_refused() -> None:
    with pytest.raises(UsageError, match="there are no places of 'output' to name"):
        saccade.look(nn.TransformerEncoderLayer(16, 4, 32), torch.randn(5, 16), labels={"output": "abcde"})


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_what_moved_the_output_is_complete_and_no_attention(name: str) -> None:
    methods = ["gradient × input", "integrated gradients"]
    writes = None if name == "bert" else 2
    shown = saccade.look(model(name), tokenizer(), TEXT, max_new_tokens=writes, attributions=methods)
    (scene,) = shown.scenes
    moved = scene.looks[-2:]
    assert [look.name for look in moved] == [f"what moved the output: {method}" for method in methods]
    assert all(look.kind == "attribution" for look in moved)
    assert [look.kind for look in scene.looks[:-2]] == ["attention"] * len(scene.looks[:-2])
    source = LogitSource(model(name), _run(name, scene))
    for row, (place, target) in enumerate(source.targets()):
        change = source.change(place, target)
        assert moved[1].weights[0, row].sum() == pytest.approx(change, abs=4e-3)
    assert 0 < float(scene.notes["integrated gradients, error of the sum"]) < 4e-3


def _run(name: str, scene: saccade.view.trace.Scene) -> ModelRun:
    """The run that a scene shows, made again."""
    ids = torch.tensor([tokenizer()(TEXT)["input_ids"]])
    run = ModelRun("", (), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, tokenizer=tokenizer())
    if name != "bert":
        run.written = tokenizer().convert_tokens_to_ids(list(scene.axes["output"].labels))
        run.prompt = [0] if name == "t5" else ids[0].tolist()
        run.path = [0] * len(run.written)
    return run


def test_what_cannot_be_shown_is_told() -> None:
    with pytest.raises(UsageError, match="expected a tokenizer or processor before a text"):
        saccade.look(model("bert"), torch.zeros(1, 3), TEXT)
    with pytest.raises(UsageError, match="expected a text, a picture or sound"):
        saccade.look(model("bert"), tokenizer())
    with pytest.raises(UnknownName, match="did you mean 'integrated gradients'"):
        saccade.look(model("bert"), tokenizer(), TEXT, attributions=["integrated gradient"])
    with pytest.raises(UsageError, match="max_new_tokens: expected at least 1, got 0"):
        saccade.look(model("gpt2"), tokenizer(), TEXT, max_new_tokens=0)
    with pytest.raises(UsageError, match="leave out max_new_tokens"):
        saccade.look(model("gpt2"), tokenizer(), TEXT, max_new_tokens=2, rollout=True)
    with pytest.raises(UsageError, match="expected a model that gives logits"):
        saccade.look(model("bert").bert, tokenizer(), TEXT, attributions=["gradient × input"])
    with pytest.warns(UserWarning, match="no attention"), pytest.raises(UsageError, match="expected a model that attends"):
        saccade.look(nn.Linear(3, 3), torch.zeros(2, 3))


@pytest.mark.parametrize(
    ("given", "asked", "message"),
    [
        ((TEXT,), {}, "expected a tokenizer or tensors before the text"),
        ((tokenizer, " "), {}, "the text is empty"),
        ((tokenizer, 5), {}, "expected a text, a picture or sound, got 5"),
        ((tokenizer, TEXT), {"labels": ["a"]}, "labels: the tokenizer or processor names the places"),
        ((tokenizer, TEXT), {"layers": 1}, r"layers: expected a list of numbers from 1, such as \[1, 2\], got 1"),
        ((tokenizer, TEXT), {"layers": "1"}, "layers: expected a list of numbers"),
        ((tokenizer, TEXT), {"layers": [9]}, r"layers that Bert\w+ has, from 1, got \[9\]"),
    ],
)
def test_what_is_easily_mixed_up_is_told_in_a_line(given: Any, asked: dict[str, Any], message: str) -> None:
    arguments = [tokenizer() if one is tokenizer else one for one in given]
    with pytest.raises(UsageError, match=message):
        saccade.look(model("bert"), *arguments, **asked)


def test_a_text_longer_than_the_model_is_told() -> None:
    most = model("bert").config.max_position_embeddings
    with pytest.raises(UsageError, match=rf"^look: expected at most {most} tokens, .*, got \d+; shorten the text$"):
        saccade.look(model("bert"), tokenizer(), TEXT * most)
    with pytest.raises(UsageError, match=r"and 2 new ones; shorten the text or max_new_tokens$"):
        saccade.look(model("gpt2"), tokenizer(), f"{TEXT} " * 1024, max_new_tokens=2)


def test_an_attribution_and_a_drawing_by_their_names() -> None:
    shown = saccade.look(model("bert"), tokenizer(), TEXT, attributions="gradient x input", drawing="overview")
    assert [look.kind for look in shown.scenes[0].looks].count("attribution") == 1
    assert shown.drawing == "overview"


def test_what_is_no_model_is_told() -> None:
    with pytest.raises(UsageError, match="expected a torch.nn.Module first"):  # noqa: RUF043
        saccade.look(tokenizer(), model("bert"), TEXT)
    with pytest.raises(UsageError, match="does not generate"):
        saccade.look(nn.Linear(2, 2), tokenizer(), TEXT, max_new_tokens=3)
    with pytest.raises(UsageError, match=r"looking: expected a torch\.nn\.Module, got str"), saccade.looking("bert"):
        pass
