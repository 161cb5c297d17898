"""A trained model as people use it: opened, asked with whatever they hold, evaluated, looked into."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from PIL import Image

import saccade
from saccade import systems
from saccade.attention import through_layers
from saccade.data.examples import Bag, Example, Pair, Picture
from saccade.errors import DataError, UnknownName, UsageError
from saccade.search.search_config import MOST
from saccade.trained import TrainedModel
from saccade.training.memory import random_tensors, restore_random
from saccade.training.progress import Quiet
from saccade.training.train import train

from .exchange import encoder_models, gpt_models
from .training import small
from .training.runs import tiny, tiny_transformer

DATE = "<en_US> 3/4/18"
Open = Callable[[str], TrainedModel]


@pytest.fixture(scope="module", autouse=True)
def as_before() -> Iterator[None]:
    """Threads and random states, which a training changes, as they were."""
    threads, states = torch.get_num_threads(), random_tensors()
    yield
    torch.set_num_threads(threads)
    restore_random(states)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """A model of each kind, trained once."""
    kinds = {"dates": lambda folder: tiny("train.steps=6"), **small.KINDS}
    kinds["transformer"] = lambda folder: tiny_transformer("train.steps=6")
    known: dict[str, TrainedModel] = {}

    def of(kind: str) -> TrainedModel:
        if kind not in known:
            folder = tmp_path_factory.mktemp(kind)
            known[kind] = saccade.load(train(folder / "run", kinds[kind](folder), Quiet()).path)
        return known[kind]

    return of


def texts(predictions: list[saccade.Prediction]) -> list[str]:
    return [one.text for one in predictions]


def same(one: saccade.Prediction, other: saccade.Prediction) -> bool:
    return bool(one.text == other.text and one.log_prob == pytest.approx(other.log_prob, abs=1e-5))


def test_a_text_gives_a_prediction_and_a_list_gives_a_list(opened: Open) -> None:
    model = opened("dates")
    one = model.predict(DATE)
    assert isinstance(one, saccade.Prediction)
    assert str(one) == one.text
    assert one.probability == pytest.approx(np.exp(one.log_prob))
    assert one.example == Example(DATE)
    listed = model.predict([DATE, "2018-03-04"])
    assert isinstance(listed, list)
    assert same(listed[0], one)
    assert [found.example.input for found in listed if found.example] == [DATE, "2018-03-04"]
    assert model.predict([]) == []


HELD: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "generator": iter,
    "array of texts": np.array,
    "array of objects": lambda rows: np.array(rows, dtype=object),
    "series": pandas.Series,
    "indexed series": lambda rows: pandas.Series(rows, index=[f"row {n}" for n in range(len(rows))]),
    "column": lambda rows: pandas.DataFrame({"text": rows, "other": 1})["text"],
    "table": lambda rows: pandas.DataFrame({"text": rows, "other": 1}),
    "keys": lambda rows: dict.fromkeys(rows).keys(),
}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("kind", ["dates", "sentences"])
def test_texts_as_people_hold_them(kind: str, held: str, opened: Open) -> None:
    rows = [DATE, "film 3 is good", "x"]
    expected = opened(kind).predict(rows)
    found = opened(kind).predict(HELD[held](rows))
    assert len(found) == 3
    assert all(map(same, found, expected))


@pytest.mark.parametrize("given", [5, None, 3.5, {"text": "a"}, np.zeros(3), b"a"])
@pytest.mark.parametrize("kind", ["dates", "sentences"])
def test_what_is_no_text_is_refused_by_its_kind(kind: str, given: Any, opened: Open) -> None:
    with pytest.raises(UsageError, match=rf"^expected text, got {type(given).__name__}$"):
        opened(kind).predict(given)


def test_a_table_without_a_known_column_of_texts_names_its_columns(opened: Open) -> None:
    with pytest.raises(
        DataError, match=r"^the table: expected a column text, columns are said, who; rename 'said' to 'text'$"
    ):
        opened("sentences").predict(pandas.DataFrame({"said": ["film 3 is good"], "who": ["me"]}))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([["a", "b"]], "expected text, got list"),
        (["a", None], "input 2 of 2: expected text, got NoneType"),
        (["a", "b", b"c"], "input 3 of 3: expected text, got bytes"),
        ([{"source": "a"}, "b"], "input 1 of 2: expected text, got dict"),
    ],
)
def test_what_is_no_text_is_told_by_its_place(given: Any, told: str, opened: Open) -> None:
    with pytest.raises(UsageError) as error:
        opened("sentences").predict(given)
    assert str(error.value) == told


def test_pictures_as_people_hold_them(opened: Open, tmp_path: Path) -> None:
    model = opened("pictures")
    pixels = np.random.default_rng(0).integers(0, 255, (10, 10, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    expected = model.predict(pixels)
    assert expected.text in ("red", "blue")
    for given in (Image.fromarray(pixels), tmp_path / "a.png", str(tmp_path / "a.png")):
        assert same(model.predict(given), expected)
    listed = model.predict([pixels, tmp_path / "a.png", Image.fromarray(pixels)])
    assert len(listed) == 3
    assert all(same(one, expected) for one in listed)
    assert isinstance(model.predict("train#0"), saccade.Prediction)
    large = Image.fromarray(pixels).resize((33, 21)).convert("L")  # which is fitted to the size of training
    assert model.predict(large).text in ("red", "blue")
    with pytest.raises(UsageError, match=r"^expected a picture: a file, an image of Pillow, or an array of bytes"):
        model.predict(pixels.astype(float))
    assert model.predict(pixels[:5]).text in ("red", "blue")


def test_bags_as_people_hold_them(opened: Open) -> None:
    model = opened("bags")
    rows = [[1.0, 0.5], [6.0, 0.25], [2.0, 0.0]]
    expected = model.predict(np.array(rows))
    assert expected.text in ("0", "1")
    for given in (torch.tensor(rows), np.array(rows, dtype=np.float32), pandas.DataFrame(rows, columns=["a", "b"])):
        assert same(model.predict(given), expected)
    assert [same(one, expected) for one in model.predict([np.array(rows), rows])] == [True, True]
    with pytest.raises(DataError, match=r"expected items of shape \(2,\), as in training, got items of shape \(3,\)"):
        model.predict(np.zeros((4, 3)))


def test_nodes_by_their_names(opened: Open) -> None:
    model = opened("graph")
    assert model.predict("3").text in ("0", "1")
    assert len(model.predict(["3", "4"])) == 2
    with pytest.raises(UnknownName, match="'99'"):
        model.predict("99")


def test_several_outputs_are_the_best_and_its_alternatives(opened: Open) -> None:
    best = opened("dates").predict(DATE, n_best=3)
    assert len(best.alternatives) == 2
    assert best.alternatives[0].alternatives == ()
    scores = [one.log_prob / (len(one.tokens)) for one in (best, *best.alternatives)]
    assert scores == sorted(scores, reverse=True)
    label = opened("sentences").predict("film 3 is good", n_best=3)
    assert {label.text, *texts(list(label.alternatives))} == {"0", "1", "2"}
    assert sum(one.probability for one in (label, *label.alternatives)) == pytest.approx(1, abs=1e-5)
    for few in (0, "3"):
        with pytest.raises(UsageError, match=f"n_best: expected a whole number from 1, got {few!r}"):
            opened("dates").predict(DATE, n_best=few)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=rf"n_best: .* {MOST}, got {MOST + 1}"):
        opened("dates").predict(DATE, n_best=MOST + 1)


def test_the_search_may_be_changed(opened: Open) -> None:
    model = opened("dates")
    assert len(model.predict(DATE, max_length=2).tokens) <= 2
    assert model.predict(DATE, method="beam", beam=3).text
    with pytest.raises(UsageError, match=r"^search\.beam: .*search\.method=greedy"):
        model.predict(DATE, beam=3)
    with pytest.raises(UnknownName, match=r"unknown key in \[search\] 'bem'; did you mean 'beam'"):
        model.predict(DATE, bem=3)
    with pytest.raises(UsageError, match=r"^to: expected a run that writes several languages, got 'de'"):
        model.predict(DATE, to="de")


def test_an_input_that_cannot_be_read_is_told_without_a_line(opened: Open) -> None:
    with pytest.raises(DataError, match=r"^input 2 of 2: \d+ tokens, at most 1000"):
        opened("dates").predict([DATE, "x" * 1001])


def test_an_empty_text_gives_an_empty_text(opened: Open) -> None:
    assert texts(opened("dates").predict(["", DATE, " "]))[::2] == ["", ""]


def test_a_text_streams_piece_by_piece(opened: Open) -> None:
    model = opened("dates")
    pieces = list(model.stream(DATE))
    assert "".join(pieces) == model.predict(DATE).text
    assert len(pieces) > 1
    first = next(model.stream(DATE))  # the rest is not written
    assert first == pieces[0]
    with pytest.raises(DataError, match="there is nothing to go on from: the input is empty"):
        list(model.stream(""))


@pytest.mark.parametrize("kind", ["dates", "windows"])
def test_streaming_builds_no_graph_and_leaves_its_reader_out_of_inference_mode(
    kind: str, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(kind)
    real, modes = type(model.module).step, []

    def step(self: Any, *args: Any, **words: Any) -> Any:
        found = real(self, *args, **words)
        modes.append((torch.is_inference_mode_enabled(), found.log_probs.requires_grad))
        return found

    monkeypatch.setattr(type(model.module), "step", step)
    between = [torch.is_inference_mode_enabled() for _ in model.stream(DATE)]
    assert len(modes) > 1
    assert set(modes) == {(True, False)}
    assert not any(between)


def test_evaluation_prints_as_a_table(opened: Open) -> None:
    model = opened("dates")
    found = model.evaluate()
    head, names, *rows = str(found).splitlines()
    assert head == f"{model.run.path} at step {model.step}, test"
    assert names.split("  ")[-1] == "loss"
    assert "examples" in names
    assert "exact match" in names
    assert [row.split()[0] for row in rows] == list(found) == ["all", "tagged", "untagged"]
    assert rows[0].split()[1:] == ["20", f"{found['all']['exact_match']:.2%}", f"{found['all']['loss']:.4f}"]
    assert repr(found) == str(found)
    assert "<table>" in found._repr_html_()
    assert [one.example for one in found.predictions] == list(model.splits.test)
    assert found["all"]["examples"] == 20
    assert model.evaluate("valid")["all"] != found["all"]


def test_evaluation_on_other_examples(opened: Open, tmp_path: Path) -> None:
    model = opened("dates")
    expected = model.evaluate("test").scores["all"]
    pairs = [(one.input, one.target) for one in model.splits.test]
    assert model.evaluate(data=pairs)["all"]["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert dict(model.evaluate(data=model.splits.test)["all"]) == dict(expected)
    grouped = model.evaluate(data=[(one.input, one.target, one.group) for one in model.splits.test])
    assert set(grouped) == {"all", "tagged", "untagged"}
    (tmp_path / "mine.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    assert model.evaluate(data=str(tmp_path / "mine.tsv"))["all"]["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    with pytest.raises(UnknownName, match="unknown split 'tset'; did you mean 'test'"):
        model.evaluate("tset")
    with pytest.raises(DataError, match="expected examples to evaluate, got none"):
        model.evaluate(data=[])


def test_evaluation_on_pairs_of_any_kind(opened: Open) -> None:
    pictures = opened("pictures")
    pixels = np.zeros((10, 10, 3), np.uint8)
    found = pictures.evaluate(data=[(pixels, "red"), (Image.fromarray(pixels), "blue")])
    assert found["all"]["accuracy"] == 0.5
    examples = [Example(Picture(pixels), "red"), Example(Picture(pixels), "blue")]
    assert dict(pictures.evaluate(data=examples)["all"]) == pytest.approx(dict(found["all"]))
    rows = np.array([[1.0, 0.5], [6.0, 0.25]], dtype=np.float32)
    bags = opened("bags").evaluate(data=[(rows, 0), (rows, 1)])
    assert bags["all"]["accuracy"] == 0.5
    assert dict(opened("bags").evaluate(data=[Example(Bag(rows), "0"), Example(Bag(rows), "1")])["all"]) == bags["all"]
    with pytest.raises(UsageError, match=r"^data: expected a run that reads files, got one that labels the nodes"):
        opened("graph").evaluate(data=[("3", "1")])


def test_a_part_without_examples_is_told(opened: Open) -> None:
    with pytest.raises(DataError, match=r"its test data is empty; .* or choose another split"):
        opened("sentences").evaluate("test")
    assert opened("sentences").evaluate().title.endswith("valid")


OF_LOSS_ALONE = {"windows", "hidden", "permuted"}


@pytest.mark.parametrize("kind", ["dates", *sorted(small.KINDS.keys() - OF_LOSS_ALONE)])
def test_prediction_is_what_is_evaluated(kind: str, opened: Open) -> None:
    """One pass: what is scored is what is predicted, whatever is in the batch."""
    model = opened(kind)
    found = model.evaluate("valid")
    examples = list(model.splits.valid)
    assert [one.example for one in found.predictions] == examples
    assert texts(list(found.predictions)) == texts(model.predictions(examples))
    typed = [str(one.name) for one in examples] if kind == "graph" else [f"valid#{n}" for n in range(len(examples))]
    if isinstance(examples[0].input, str | Pair):
        typed = [str(one.input) for one in examples]
    assert texts(model.predict(typed)) == texts(list(found.predictions))


@pytest.mark.parametrize("kind", ["dates", *sorted(small.KINDS)])
def test_looks_are_drawn(kind: str, opened: Open, tmp_path: Path) -> None:
    model = opened(kind)
    first = model.splits.valid[0]
    typed = "valid#0"
    if isinstance(first.input, str | Pair):
        typed = str(first.input) or first.target
    elif kind == "graph":
        typed = str(first.name)
    if not systems.attends(model.system, model.run.settings.model):
        with pytest.raises(UsageError, match="has no attention to show"):
            model.look(typed)
        return
    look = model.look(typed)
    assert isinstance(look, saccade.Shown)
    assert len(look.scenes) >= 1
    assert len(model.look([typed, typed]).scenes) == 2 * len(look.scenes)
    assert str(look)
    assert "<" in look._repr_html_()
    if kind == "glimpses":
        with pytest.raises(UsageError, match="is a path of glimpses: it has places, but no weights"):
            look.weights()
    else:
        weights = look.weights()
        assert weights.min() >= 0
        assert np.isfinite(weights).all()
    (file,) = look.save(tmp_path / "a.html")
    assert file.stat().st_size > 1000
    assert len(model.predict(typed).looks) == 0  # which cost something, and were not asked for


def test_looks_are_of_the_prediction(opened: Open) -> None:
    model = opened("dates")
    (scene,) = model.look(DATE).scenes
    found = model.predict(DATE)
    assert scene.title
    assert list(scene.axes["output"].labels) == list(found.tokens)
    assert "".join(scene.axes["input"].labels).replace("␣", " ")[-6:] == DATE[-6:]
    assert model.look(DATE).weights().sum(1) == pytest.approx(np.ones(len(found.tokens)), abs=1e-5)
    assert len(model.look(DATE, n_best=2).scenes) == 2
    with pytest.raises(DataError, match="there is nothing to look at: the input is empty"):
        model.look("")


def test_a_model_is_told_by_its_system_and_run(opened: Open) -> None:
    model = opened("dates")
    assert repr(model) == f"<saccade bahdanau of {model.run.path}>"
    assert isinstance(model.module, torch.nn.Module)
    assert not model.module.training
    assert model.step == 6


def test_a_checkpoint_and_a_device_are_chosen(opened: Open) -> None:
    path = opened("dates").run.path
    assert saccade.load(path, 4).step == 4
    assert saccade.load(str(path), "last", device="cpu").step == 6
    with pytest.raises(DataError, match="no checkpoint of step 5"):
        saccade.load(path, 5).predict(DATE)
    with pytest.raises(UsageError, match=r"^device: expected one of auto, cpu"):
        saccade.load(path, device="gpu").predict(DATE)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run"):
        saccade.load(tmp_path)


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, TrainedModel]:
    """A published language model, by transformers and here."""
    path = tmp_path_factory.mktemp("gpt")
    return gpt_models.published(path, attn_implementation="eager"), saccade.load(path)


def ids_of(model: TrainedModel, text: str) -> torch.Tensor:
    return torch.tensor([model.task.writer.tokenizer.encode(text)])


def test_a_language_model_that_reads_looks_as_transformers_does(gpt: tuple[Any, TrainedModel]) -> None:
    theirs, model = gpt
    shown = model.look("to be, or not", reading=True)
    with torch.no_grad():
        expected = theirs(ids_of(model, "to be, or not"), output_attentions=True).attentions
    for layer, weights in enumerate(expected, 1):
        for head in range(weights.shape[1]):
            assert np.allclose(shown.weights(layer=layer, head=head), weights[0, head], atol=1e-5)
    assert shown.scenes[0].notes == {}
    assert shown.scenes[0].title == "to be, or not"
    with pytest.raises(DataError, match="at most 40 expected"):
        model.look("to be " * 40, reading=True)


def test_heads_of_many_texts_are_those_of_all_scenes(gpt: tuple[Any, TrainedModel]) -> None:
    _, model = gpt
    given = ["to be, or not", "that is", "the question"] * 4  # more than are held at once
    report, whole = model.heads(given), model.look(given, reading=True).heads()
    assert (report.texts, report.tokens) == (12, whole.tokens)
    for row, expected in zip(report.table(), whole.table(), strict=True):
        assert row == pytest.approx(expected)
    assert model.heads("to be").table()[0]["next"] == 0  # nothing is seen of what follows


def test_paths_through_layers_are_further_looks(gpt: tuple[Any, TrainedModel]) -> None:
    _, model = gpt
    shown = model.look("to be, or not", rollout=True, flow=True)
    assert shown.looks[2:] == ["attention rollout", "attention flow"]
    assert shown.look == "attention rollout"  # what was asked for
    layers = [look.weights for look in shown.scenes[0].looks[:2]]
    for method, name in ((through_layers.rollout, "attention rollout"), (through_layers.flow, "attention flow")):
        assert np.allclose(shown.weights(name), method(layers)[0])


def test_without_heads_a_model_is_as_if_their_columns_were_zero(gpt: tuple[Any, TrainedModel]) -> None:
    """The rows of the output projection that read a head are zero in theirs, and here the head is left out."""
    theirs, model = gpt
    ids = ids_of(model, "to be, or not")
    before = model.module.log_probs(ids)
    projection = theirs.transformer.h[1].attn.c_proj.weight
    kept = projection.detach().clone()
    try:
        with torch.no_grad():
            projection[8:] = 0  # of two heads of 8 numbers
            expected = theirs(ids).logits.log_softmax(-1)
    finally:
        with torch.no_grad():
            projection.copy_(kept)
    with model.without("2.1"), torch.no_grad():
        assert torch.allclose(model.module.log_probs(ids), expected, atol=1e-5)
        stepped = gpt_models.log_probs(model, ids)  # as texts are written
        assert torch.allclose(stepped, expected, atol=1e-5)
    assert not torch.allclose(before, expected, atol=1e-2)
    assert torch.equal(model.module.log_probs(ids), before)
    found = model.ablation("to be, or not", ["2.1"])
    assert [row["after"] for row in found.tokens()] == pytest.approx(
        expected[0, :-1].gather(1, ids[0, 1:, None])[:, 0].tolist(), abs=1e-5
    )
    after = found.after.slots[0].probabilities
    assert after == pytest.approx(expected[0, -1].exp().numpy(), abs=1e-6)


def test_what_a_written_text_loses(opened: Open) -> None:
    """The text that all heads write, and how likely it is without some."""
    model = opened("transformer")
    found = model.ablation(DATE, ["cross.1", "encoder.1.0"])
    best = model.predict(DATE)
    assert found.before.log_probs.sum() == pytest.approx(best.log_prob, abs=1e-4)
    assert list(found.before.tokens) == list(best.tokens)
    assert found.change != 0
    assert same(model.predict(DATE), best)
    with pytest.raises(UsageError, match=r"without: expected one of encoder\.1, decoder\.1, cross\.1"):
        model.ablation(DATE, ["1"])
    assert {look.name for look in model.look(DATE, rollout=True).scenes[0].looks if look.kind == "rollout"} == {
        "attention rollout, encoder",
        "attention rollout, decoder",
    }
    assert {one.stack for one in model.heads(DATE).sums.values()} == {
        "cross-attention",
        "decoder self-attention",
        "encoder self-attention",
    }


@pytest.mark.parametrize(
    ("task", "text", "names"),
    [
        ("masked", "the [MASK] sat on the [MASK]", ["filled in 1", "filled in 2"]),
        ("label", "the cat sat", ["label"]),
        ("tags", "the cat sat", ["1: the", "2: cat", "3: sat"]),
        ("span", "who sat ||| the cat sat", ["first token of the answer", "last token of the answer"]),
    ],
)
def test_what_other_outputs_lose(task: str, text: str, names: list[str], tmp_path: Path) -> None:
    model = encoder_models.run("bert", tmp_path / "run", task)
    found = model.ablation(text, ["1", "2.1"])
    assert [slot.name for slot in found.before.slots] == names
    for before, after in zip(found.before.slots, found.after.slots, strict=True):
        assert before.probabilities.sum() == pytest.approx(1)
        assert after.probabilities.sum() == pytest.approx(1)
        assert not np.array_equal(before.probabilities, after.probabilities)
    best = model.predict(text)
    if task == "label":
        assert next(iter(found.outputs(1).values()))[0]["output"] == best.text
    if task == "tags":
        assert " ".join(rows[0]["output"] for rows in found.outputs(1).values()) == best.text
    if task == "masked":
        assert [rows[0]["output"] for rows in found.outputs(1).values()] == list(best.tokens)
        with pytest.raises(DataError, match="expected a text with a hidden token"):
            model.ablation("the cat", ["1"])
    many = model.ablation([text, text], ["1"])
    assert [one.table() for one in many] == [model.ablation(text, ["1"]).table()] * 2


def test_vectors_lose_their_direction(tmp_path: Path) -> None:
    encoder_models.published("bert", tmp_path, "masked")
    model = saccade.load(tmp_path)
    before = model.embed("the cat sat")
    with model.without("1", "2"):
        after = model.embed("the cat sat")
    assert not np.allclose(before, after)
    assert np.array_equal(model.embed("the cat sat"), before)


def test_systems_without_heads_say_so(opened: Open) -> None:
    with pytest.raises(UsageError, match="without: expected a model of multi-head attention"):
        opened("dates").ablation(DATE, ["1"])
    with pytest.raises(UsageError, match="reading: expected a language model, got"):
        opened("dates").look(DATE, reading=True)
