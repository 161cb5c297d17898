"""Runs on sets resume to the same bits, too: those that draw words by chance, and those with dropout."""

from pathlib import Path

import pytest

from saccade.training.interrupts import Interrupted
from saccade.training.settings import Settings, resolve
from saccade.training.train import train

from .runs import StopAt, contents, ended, forked, in_child

WORDS = [f"train.{word}" for word in ("steps=9", "valid_every=4", "save_every=3", "threads=1", "log_every=1", "rate=0.05")]


def numbers(folder: Path) -> Settings:
    words = ["data.name=digit_sums", "tokens.kind=word", "data.train_size=60", "data.valid_size=9", "data.test_size=2"]
    return resolve({"system": "deep_sets"}, [*words, "model.widths=[5,4]", "train.max_tokens=60", *WORDS])


def in_order(folder: Path) -> Settings:
    words = ["data.name=digit_sums", "tokens.kind=word", "data.train_size=60", "data.valid_size=9", "data.test_size=2"]
    return resolve({"system": "deep_sets"}, [*words, "model.reader=lstm", "model.widths=[5]", "train.max_tokens=60", *WORDS])


def expansion(folder: Path) -> Settings:
    (folder / "my.tsv").write_text("".join(f"a{n % 3} b{n % 5}\tc{n % 4}\n" for n in range(60)))
    words = [f"data.train={folder / 'my.tsv'}", "tokens.kind=word", "model.width=4", "model.dropout=0.3"]
    return resolve({"system": "set_expansion"}, [*words, "model.negatives=5", "train.max_tokens=20", *WORDS])


def outlier(folder: Path) -> Settings:
    rows = "".join(f"{n // 4},odd,{int(n % 4 == n // 4 % 4)},{n % 7},{n * 0.1:.1f}\n" for n in range(80))
    (folder / "bags.csv").write_text("bag,label,mark,a,b\n" + rows)
    words = [f"data.train={folder / 'bags.csv'}", "model.width=4", "model.dropout=0.3", "train.max_tokens=20"]
    return resolve({"system": "set_outlier"}, [*words, *WORDS])


def cloud(folder: Path) -> Settings:
    words = ["data.name=point_clouds", "data.points=6", "data.train_size=40", "data.valid_size=10", "data.test_size=10"]
    return resolve({"system": "point_cloud"}, [*words, "model.width=4", "train.max_tokens=60", *WORDS])


@pytest.mark.parametrize("made", [numbers, in_order, expansion, outlier, cloud], ids=lambda made: made.__name__)
def test_split_run_is_the_whole_run(made: object, tmp_path: Path) -> None:
    chosen = made(tmp_path)  # type: ignore[operator]

    def interrupted() -> None:
        with pytest.raises(Interrupted):
            train(tmp_path / "split", chosen, StopAt(5))

    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    assert ended(forked(interrupted)) == 0
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0
    assert contents(tmp_path / "split") == contents(tmp_path / "whole")
