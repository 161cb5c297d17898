"""Documents, aspects and vectors learned before the first step: their runs resume to the same bits, too."""

from pathlib import Path

import pytest

from saccade.training.interrupts import Interrupted
from saccade.training.settings import Settings, resolve
from saccade.training.train import train

from .runs import StopAt, contents, ended, forked, in_child
from .test_resume_labels import WORDS

GIVEN = {
    "han": ["model.hidden=6", "task.sentence=2"],
    "atae_lstm": ["model.hidden=6", "model.word_dropout=0.2"],
    "document_attention": ["model.reader=gru", "model.hidden=6", "model.embedding=8", "task.vectors=skip_gram"],
}


def texts(folder: Path, system: str) -> Settings:
    lines = [f"film {n} is {'good' if n % 3 else 'bad'} . Really | film\t{n % 3}\n" for n in range(60)]
    (folder / "my.tsv").write_text("".join(lines))
    words = [f"data.train={folder / 'my.tsv'}", "tokens.kind=word", "train.max_tokens=60", "model.dropout=0.3"]
    return resolve({"system": system}, [*words, *GIVEN[system], *WORDS])


@pytest.mark.parametrize("system", GIVEN)
@pytest.mark.parametrize("step", [2, 5])
def test_split_run_is_the_whole_run(system: str, step: int, tmp_path: Path) -> None:
    chosen = texts(tmp_path, system)

    def interrupted() -> None:
        with pytest.raises(Interrupted):
            train(tmp_path / "split", chosen, StopAt(step))

    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    assert ended(forked(interrupted)) == 0
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0
    assert contents(tmp_path / "split") == contents(tmp_path / "whole")
