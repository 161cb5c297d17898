"""Nodes: the graph goes with the run, nodes are asked for by name, and a picture shows the neighborhood."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.data import tensors
from saccade.data.examples import Example, Node
from saccade.data.formats.graph_files import GraphData, both_ways, sparse
from saccade.errors import DataError, InputError, UnknownName
from saccade.readers.node import FILE
from saccade.task import Task
from saccade.view.trace import Axis
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions, scene, settings

SYSTEM = "gat"
SIZES = ("model.hidden_size=3", "model.num_heads=2", "model.num_output_heads=2")
NAMES = ("ann", "bob", "cy", "dee", "eve", "fay")
EDGES = np.array([[0, 0, 1, 3], [1, 2, 2, 4]])  # fay knows nobody


def graph(edge_features: bool = False, classes: tuple[str, ...] = ("x", "y")) -> GraphData:
    dice = np.random.default_rng(0)
    edges = both_ways(EDGES, 6)
    features = dice.random((edges.shape[1], 3)).astype(np.float32) if edge_features else None
    labels = np.minimum(np.array([0, 1, 0, 1, -1, 0]), len(classes) - 1)
    parts = np.array([0, 1]), np.array([2]), np.array([3, 5])
    return GraphData(sparse(dice.random((6, 4)).astype(np.float32)), labels, edges, *parts, classes, NAMES, features)


def fitted(edge_features: bool = False) -> Task:
    return made_tasks.fitted(SYSTEM, graph(edge_features).splits(), *SIZES)


def model(task: Task) -> object:
    return made_tasks.model(SYSTEM, task, *SIZES, loud=1.0)


def nodes(*numbers: int) -> list[Example]:
    return [graph().example(number) for number in numbers]


def test_the_graph_is_moved_to_a_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no other device than by its name will do."""
    column, device, moves = fitted(edge_features=True).reader.encode([Node(0), Node(3)]), torch.device("cpu", 0), []
    real = tensors.moved

    def moved(value: object, device: torch.device) -> object:
        moves.append(type(value).__name__)
        return real(value, device)

    monkeypatch.setattr(tensors, "moved", moved)
    with torch.inference_mode():
        first = column.batch([0]).on(device)
    assert moves.count("Graph") == 1
    moves.clear()
    second = column.batch([1]).on(device)
    assert moves == ["Tensor"]
    assert second.features is first.features
    assert not second.features.is_inference()
    assert (first.nodes.tolist(), second.nodes.tolist()) == ([0], [3])
    assert column.batch([1]).on(torch.device("cpu")).features is column.whole.features


@pytest.mark.parametrize("edge_features", [False, True])
def test_the_graph_comes_back_from_the_run(edge_features: bool, tmp_path: Path) -> None:
    task = fitted(edge_features)
    task.save(tmp_path)
    again = Task.load(settings(SYSTEM, *SIZES), tmp_path)
    made = model(task)
    assert again.reader.names == list(NAMES)
    assert again.sizes() == task.sizes() == {"features": 4, "edge_features": 3 if edge_features else 0, "labels": 2}
    one, other = (predictions(each, made, NAMES, options(2)) for each in (task, again))
    assert one == other
    assert again.reader.kept().fingerprint() == graph(edge_features).splits().fingerprint()
    assert [example.input for example in again.reader.kept().test] == [3, 5]
    (tmp_path / FILE).write_bytes(b"no tensors")
    with pytest.raises(DataError, match=r"graph\.safetensors: cannot be read"):
        Task.load(settings(SYSTEM, *SIZES), tmp_path)


def test_one_label_cannot_be_learned_nor_nodes_without_features() -> None:
    with pytest.raises(DataError, match="at least 2 different labels"):
        made_tasks.fitted(SYSTEM, graph(classes=("x",)).splits(), *SIZES)
    bare = replace(graph(), features=sparse(np.zeros((6, 0), np.float32)))
    with pytest.raises(DataError, match="expected nodes with at least one column of features, got none"):
        made_tasks.fitted(SYSTEM, bare.splits(), *SIZES)


def test_nodes_are_asked_for_by_name() -> None:
    task = fitted()
    made = model(task)
    found = predictions(task, made, ["dee", "", " ann "], options(2))
    assert [len(one) for one in found] == [2, 1, 2]
    assert found[1][0].text == ""
    for node, best in ((3, found[0]), (0, found[2])):
        with torch.no_grad():
            row = made.logits(task.reader.encode([Node(node)]).batch([0])).softmax(-1)[0]  # type: ignore[attr-defined]
        assert best[0].probability == pytest.approx(float(row.max()), abs=1e-5)
        assert best[0].text == task.writer.names[int(row.argmax())]
    with pytest.raises(InputError, match="line 3: unknown node 'deee'; did you mean 'dee'"):
        predictions(task, made, ["dee", "", "deee"])
    with pytest.raises(UnknownName):
        task.reader.parse("deee", nothing)


def test_nodes_without_names_are_their_numbers() -> None:
    task = made_tasks.fitted(SYSTEM, replace(graph(), nodes=()).splits(), *SIZES)
    for typed in ("4", 4, Node(4)):
        example = task.reader.parse(typed, nothing)
        assert example is not None
        assert (example.input, example.name) == (4, "4")


def test_scores_count_the_nodes_that_are_given() -> None:
    task = fitted()
    made, examples = model(task), nodes(3, 5)
    found = task.evaluate(made, examples, options())
    assert set(found["all"]) <= {"examples", *task.writer.metrics(task.writer.config)}
    right = [one.text == example.target for one, example in zip(found.predictions, examples, strict=True)]
    assert found["all"]["examples"] == 2
    assert found["all"]["accuracy"] == np.mean(right)
    assert np.sum(found.details["confusion"]["counts"]) == 2


def with_classes(axis: Axis) -> list[str]:
    assert axis.classes is not None
    return [f"{label} ({own})" for label, own in zip(axis.labels, axis.classes, strict=True)]


@pytest.mark.parametrize("edge_features", [False, True])
@pytest.mark.parametrize(("name", "around"), [("ann", ["ann (x)", "bob (y)", "cy (x)"]), ("fay", ["fay (x)"])])
def test_a_picture_shows_the_neighborhood(name: str, around: list[str], edge_features: bool) -> None:
    task = fitted(edge_features)
    drawn = scene(task, model(task), name)
    assert list(drawn.axes["node"].labels) == [name]
    assert with_classes(drawn.axes["neighbors"]) == around
    assert with_classes(drawn.axes["node"]) == around[:1]
    assert [look.name for look in drawn.looks] == ["graph attention, layer 1", "graph attention, layer 2"]
    for look in drawn.looks:
        assert look.weights.shape == (2, 1, len(around))
        assert look.weights.sum(-1) == pytest.approx(np.ones((2, 1)), abs=1e-5)
    assert drawn.notes["known label"] == "x"


def test_neighbors_are_those_whose_edges_lead_to_the_node() -> None:
    one_way = replace(graph(), edge_index=np.array([[1, 2, 0], [0, 0, 3]]))
    task = made_tasks.fitted(SYSTEM, one_way.splits(), *SIZES)
    found = {name: task.reader.axes(one_way.example(number))["neighbors"] for number, name in enumerate(NAMES)}
    names = {name: with_classes(axis) for name, axis in found.items()}
    assert names["ann"] == ["ann (x)", "bob (y)", "cy (x)"]
    assert names["dee"] == ["dee (y)", "ann (x)"]
    assert names["eve"] == ["eve (unknown)"]


def test_only_what_is_near_is_seen() -> None:
    """With two layers a node sees two steps: what a node of another part of the graph is changes nothing."""
    task = fitted()
    made = model(task)
    given = task.reader.encode([Node(0)]).batch([0])
    before = made.logits(given)  # type: ignore[attr-defined]
    features = given.features.to_dense().clone()
    features[4] += 1
    other = replace(given, features=features)
    assert torch.allclose(made.logits(other), before, atol=1e-6)  # type: ignore[attr-defined]
    features[2] += 1
    assert not torch.allclose(made.logits(other), before, atol=1e-4)  # type: ignore[attr-defined]


def test_features_that_are_mostly_zeros_stay_sparse() -> None:
    wide = np.zeros((6, 50), np.float32)
    wide[:, 7] = 1
    assert made_tasks.fitted(SYSTEM, replace(graph(), features=sparse(wide)).splits()).reader.whole.features.is_sparse
    assert not fitted().reader.whole.features.is_sparse
