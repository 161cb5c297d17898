"""Nodes to labels: the graph goes with the run, nodes are asked for by name, and a picture shows the neighborhood."""

from pathlib import Path

import numpy as np
import pytest
import torch
from saccade.tasks.nodes_to_labels import Config, Task

from saccade.data import tokenizers
from saccade.data.formats.graph_files import GraphData, both_ways, sparse
from saccade.errors import DataError, InputError
from saccade.search import Config as SearchConfig
from saccade.systems.gat import Config as ModelConfig
from saccade.systems.gat import Model
from saccade.view.trace import check

NAMES = ("ann", "bob", "cy", "dee", "eve", "fay")
EDGES = np.array([[0, 0, 1, 3], [1, 2, 2, 4]])  # fay knows nobody
BEAM = SearchConfig(method="beam", n_best=2)


def graph(edge_features: bool = False, classes: tuple[str, ...] = ("x", "y")) -> GraphData:
    dice = np.random.default_rng(0)
    edges = both_ways(EDGES, 6)
    features = dice.random((edges.shape[1], 3)).astype(np.float32) if edge_features else None
    labels = np.array([0, 1, 0, 1, -1, 0])
    parts = np.array([0, 1]), np.array([2]), np.array([3, 5])
    return GraphData(sparse(dice.random((6, 4)).astype(np.float32)), labels, edges, *parts, classes, NAMES, features)


def fitted(edge_features: bool = False) -> Task:
    return Task.fit(Config(), tokenizers.Config(), graph(edge_features))


def model(task: Task) -> Model:
    torch.manual_seed(1)
    return Model(ModelConfig(hidden=3, heads=2, output_heads=2), **task.sizes()).eval()


@pytest.mark.parametrize("edge_features", [False, True])
def test_the_graph_comes_back_from_the_run(edge_features: bool, tmp_path: Path) -> None:
    task = fitted(edge_features=edge_features)
    task.save(tmp_path)
    again = Task.load(task.config, tmp_path)
    made = model(task)
    nodes = list(range(6))
    assert again.names == list(NAMES)
    assert again.sizes() == task.sizes()
    assert task.sizes()["edge_features"] == (3 if edge_features else 0)
    assert np.array_equal(again.probabilities(made, nodes), task.probabilities(made, nodes))
    assert again.kept().fingerprint() == graph(edge_features).fingerprint()
    assert again.kept().test.tolist() == [3, 5]
    (tmp_path / "graph.safetensors").write_bytes(b"no tensors")
    with pytest.raises(DataError, match=r"graph\.safetensors: cannot be read"):
        Task.load(task.config, tmp_path)


def test_one_label_cannot_be_learned() -> None:
    with pytest.raises(DataError, match="at least 2 different labels"):
        Task.fit(Config(), tokenizers.Config(), graph(classes=("x",)))


def test_nodes_are_asked_for_by_name() -> None:
    task = fitted()
    made = model(task)
    found = list(task.predict(made, ["dee", "", " ann "], BEAM))
    assert [len(one) for one in found] == [2, 1, 2]
    assert found[1][0].text == ""
    told = task.probabilities(made, [3, 0])
    for row, best in zip(told, (found[0], found[2]), strict=True):
        assert np.exp(best[0].log_prob) == pytest.approx(row.max(), abs=1e-5)
        assert best[0].text == task.labels.names[int(row.argmax())]
    with pytest.raises(InputError, match="line 3: unknown node 'deee'; did you mean 'dee'"):
        list(task.predict(made, ["dee", "", "deee"], BEAM))


def test_scores_count_the_nodes_that_are_asked_for() -> None:
    task = fitted()
    made, nodes = model(task), graph().test.tolist()
    scores = task.evaluate(made, nodes, SearchConfig())
    assert set(scores["all"]) <= set(task.metrics(task.config))
    said = task.answers(made, nodes, SearchConfig())
    right = [task.labels.names[label] == one for label, one in zip(graph().labels[nodes], said, strict=True)]
    assert scores["all"]["examples"] == 2
    assert scores["all"]["accuracy"] == np.mean(right)
    assert np.sum(task.details(nodes, said)["confusion"]["counts"]) == 2


@pytest.mark.parametrize("edge_features", [False, True])
def test_a_picture_shows_the_neighborhood(edge_features: bool) -> None:
    task = fitted(edge_features=edge_features)
    made = model(task)
    for name, around in (("ann", ["ann (x)", "bob (y)", "cy (x)"]), ("fay", ["fay (x)"])):
        (found,) = task.predict(made, [name], SearchConfig(), looks=True)
        (scene,) = task.scenes(name, found, "")
        check(scene)
        assert scene.axes["neighbors"].labels == around
        assert [look.name for look in scene.looks] == ["layer 1", "layer 2"]
        for look in scene.looks:
            assert look.weights.shape == (2, 1, len(around))
            assert look.weights.sum(-1) == pytest.approx(np.ones((2, 1)), abs=1e-5)


def test_only_what_is_near_is_seen() -> None:
    """With two layers a node sees two steps: what a node of another part of the graph is changes nothing."""
    task = fitted()
    made = model(task)
    batch = task.corpus([0]).batch([0])
    before = made(batch)
    features = batch.features.to_dense().clone()
    features[4] += 1
    other = type(batch)(batch.graph, features, None, batch.nodes, batch.label)
    assert torch.allclose(made(other), before, atol=1e-6)
    features[2] += 1
    assert not torch.allclose(made(other), before, atol=1e-4)
