"""Your own graph from two CSV files: what is read, and what is told of mistakes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import Node
from saccade.data.formats.graph_files import Config, GraphData, load, sparse
from saccade.errors import DataError, UsageError

NODES = "id,label,split,size,age\na,red,train,1,0\nb,blue,valid,0,2.5\nc,red,test,0,0\nd,,,3,4\n"
EDGES = "source,target\na,b\nb,a\nc,d\nd,d\nc,d\n"


def read(directory: Path, nodes: str = NODES, edges: str = EDGES, directed: bool = False) -> GraphData:
    (directory / "nodes.csv").write_text(nodes, encoding="utf-8")
    (directory / "edges.csv").write_text(edges, encoding="utf-8")
    config = Config(nodes=str(directory / "nodes.csv"), edges=str(directory / "edges.csv"), directed=directed)
    found: GraphData = load(config).shared
    return found


def test_nodes_and_edges_are_read(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.nodes == ("a", "b", "c", "d")
    assert found.classes == ("blue", "red")
    assert found.labels.tolist() == [1, 0, 1, -1]
    assert [part.tolist() for part in (found.train, found.valid, found.test)] == [[0], [1], [2]]
    assert found.features.rows().tolist() == [0, 1, 3, 3]
    assert found.features.columns.tolist() == [0, 1, 0, 1]
    assert found.features.values.tolist() == [1, 2.5, 3, 4]
    assert found.features.width == 2
    assert found.edge_features is None


@pytest.mark.parametrize(("directed", "edges"), [(False, [[0, 1, 2, 3], [1, 0, 3, 2]]), (True, [[0, 1, 2], [1, 0, 3]])])
def test_edges_lead_both_ways_unless_told(tmp_path: Path, directed: bool, edges: list[list[int]]) -> None:
    assert read(tmp_path, directed=directed).edge_index.tolist() == edges


@pytest.mark.parametrize("directed", [False, True])
def test_features_go_with_their_edges(tmp_path: Path, directed: bool) -> None:
    found = read(tmp_path, edges="weight,target,source\n5,c,d\n7,a,b\n9,a,a\n", directed=directed)
    wanted = {(3, 2): 5.0, (1, 0): 7.0} | ({} if directed else {(2, 3): 5.0, (0, 1): 7.0})
    assert found.edge_features is not None
    told = zip(*found.edge_index.tolist(), found.edge_features[:, 0].tolist(), strict=True)
    assert {(source, target): feature for source, target, feature in told} == wanted


def test_nodes_are_examples_that_share_the_graph(tmp_path: Path) -> None:
    data = read(tmp_path)
    splits = data.splits()
    assert splits.shared is data
    assert splits.labels == ("blue", "red")
    assert [[(one.input, one.target, one.name) for one in part] for _, part in splits.parts()] == [
        [(0, "red", "a")],
        [(1, "blue", "b")],
        [(2, "red", "c")],
    ]
    assert splits.valid[0].where() == f"{tmp_path / 'nodes.csv'}:3"
    assert data.example(3).target == ""
    assert isinstance(splits.train[0].input, Node)


def test_without_a_split_some_that_have_labels_are_held_out(tmp_path: Path) -> None:
    rows = "".join(f"{'xy'[i % 2]},{i}\n" for i in range(20))
    found, turned = (read(tmp_path, f"label,id\n{part}", "source,target\n1,3\n") for part in (rows, "x,20\n" + rows))
    assert (len(found.train), len(found.valid), len(found.test)) == (18, 2, 0)
    assert {found.nodes[i] for i in found.valid} <= {turned.nodes[i] for i in turned.valid} | {"20"}
    assert not {*found.train.tolist()} & {*found.valid.tolist()}


def test_without_a_split_what_has_no_label_is_in_no_part(tmp_path: Path) -> None:
    found = read(tmp_path, "label,id\nx,1\n,2\ny,3\n", "source,target\n1,3\n")
    assert [part.tolist() for part in (found.train, found.valid, found.test)] == [[0, 2], [], []]
    assert found.features.width == 0
    assert len(found.features.starts) == 4


def test_a_graph_without_edges(tmp_path: Path) -> None:
    found = read(tmp_path, edges="source,target\n")
    assert found.edge_index.shape == (2, 0)
    assert np.issubdtype(found.edge_index.dtype, np.integer)


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ("id\na\n", EDGES, "expected a column 'label'"),
        ("", EDGES, "got an empty file"),
        (NODES + "a,red,train,1,1\n", EDGES, "got 'a' twice"),
        (NODES + "e,red,train,1\n", EDGES, ":6: expected 5 columns, got 4"),
        (NODES + "e,red,train,1,much\n", EDGES, ":6: expected finite numbers"),
        (NODES + "e,red,train,1,inf\n", EDGES, ":6: expected finite numbers"),
        (NODES + "e,red,learn,1,1\n", EDGES, "got 'learn'"),
        (NODES + "e,,train,1,1\n", EDGES, "expected a label for each node that has a split"),
        (NODES, EDGES + "a,z\n", ":7: expected an id of the nodes' file as target, got 'z'"),
        (NODES, "source,target,weight\na,b,1\na,b,2\n", "expected each edge with features once"),
        (NODES, "source,target,weight\na,b,1\nb,a,2\n", "from either end"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path: Path, nodes: str, edges: str, words: str) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, nodes, edges)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected two CSV files"):
        load(Config(nodes="nodes.csv"))
    with pytest.raises(DataError, match="no such file"):
        load(Config(nodes=str(tmp_path / "none.csv"), edges="e.csv"))
    (tmp_path / "bad.csv").write_bytes(b"id,label\n\xff,\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        load(Config(nodes=str(tmp_path / "bad.csv"), edges="e.csv"))


def test_a_fingerprint_tells_which_part_has_changed() -> None:
    train, valid, test = np.array([0, 1]), np.array([2]), np.array([3])
    labels, edges = np.array([0, 1, 0, 1]), np.array([[0, 1, 2], [1, 2, 3]])
    data = GraphData(sparse(np.eye(4, dtype=np.float32)), labels, edges, train, valid, test, ("a", "b"))

    def changed(**values: object) -> list[str]:
        before, after = (one.splits().fingerprint() for one in (data, replace(data, **values)))  # type: ignore[arg-type]
        return [name for name in before if before[name] != after[name]]

    assert changed() == []
    assert changed(labels=np.array([1, 1, 0, 1])) == ["train"]
    assert changed(labels=np.array([0, 1, 1, 1])) == ["valid"]
    assert changed(labels=np.array([0, 1, 0, 0])) == ["test"]
    assert changed(test=np.array([2])) == ["test"]
    assert changed(edge_index=np.array([[0, 1, 2], [1, 2, 0]])) == ["train"]
    assert changed(classes=("b", "a")) == ["train", "valid", "test"]
    assert changed(edge_features=np.ones((3, 1), np.float32)) == ["train"]
