"""Runs that say labels resume to the same bits, too: texts, graphs, bags and pictures, with chance everywhere."""

from pathlib import Path

import pytest

from saccade.training.interrupts import Interrupted
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from tests.made import photos

from .runs import StopAt, contents, ended, forked, in_child

WORDS = [f"train.{word}" for word in ("steps=9", "valid_every=4", "save_every=3", "threads=1", "log_every=1", "rate=0.05")]


def texts(folder: Path, system: str) -> Settings:
    (folder / "my.tsv").write_text("".join(f"film {n} is {'good' if n % 3 else 'bad'}\t{n % 3}\n" for n in range(60)))
    words = [f"data.train={folder / 'my.tsv'}", "tokens.kind=word", "train.max_tokens=60", "model.dropout=0.3"]
    given = {"document_attention": ["model.reader=gru", "model.hidden=6"], "bag_of_words": ["model.word_dropout=0.2"]}
    return resolve({"system": system}, [*words, *given[system], *WORDS])


def graph(folder: Path) -> Settings:
    rows = "".join(f"{n},{n % 2},{'valid' if n > 7 else 'train'},{n % 2},{n * 0.1:.1f}\n" for n in range(10))
    (folder / "nodes.csv").write_text("id,label,split,a,b\n" + rows)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"{n},{(n * 3 + 1) % 10}\n" for n in range(10)))
    words = ["data.name=graphs", f"data.nodes={folder / 'nodes.csv'}", f"data.edges={folder / 'edges.csv'}"]
    return resolve({"system": "gat"}, [*words, "model.hidden=3", "model.heads=2", *WORDS])


def bags(folder: Path) -> Settings:
    rows = "".join(f"{n // 3},{n // 3 % 2},{n % 7},{n * 0.1:.1f}\n" for n in range(60))
    (folder / "bags.csv").write_text("bag,label,a,b\n" + rows)
    words = [f"data.train={folder / 'bags.csv'}", "model.widths=[6]", "model.hidden=4", "train.max_tokens=12"]
    return resolve({"system": "attention_mil"}, [*words, *WORDS])


def images(folder: Path) -> Settings:
    """Pictures that are mirrored and shifted by chance, and running means that every batch moves."""
    photos(folder / "photos")
    words = [f"data.train={folder / 'photos'}", "data.size=10", "model.width=4", "model.stride=1", "train.max_tokens=5"]
    return resolve({"system": "se_resnet"}, [*words, "train.optimizer=sgd", *WORDS])


MADE = {"gat": graph, "attention_mil": bags, "se_resnet": images}


@pytest.mark.parametrize("system", ["document_attention", "bag_of_words", "gat", "attention_mil", "se_resnet"])
@pytest.mark.parametrize("step", [2, 5])
def test_split_run_is_the_whole_run(system: str, step: int, tmp_path: Path) -> None:
    chosen = MADE[system](tmp_path) if system in MADE else texts(tmp_path, system)

    def interrupted() -> None:
        with pytest.raises(Interrupted):
            train(tmp_path / "split", chosen, StopAt(step))

    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    assert ended(forked(interrupted)) == 0
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0
    assert contents(tmp_path / "split") == contents(tmp_path / "whole")
