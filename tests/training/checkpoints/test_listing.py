"""What stands among the checkpoints: in the order of their saves, with those that are being replaced."""

from pathlib import Path

import pytest

from saccade.errors import DataError
from saccade.training.checkpoints import listing
from saccade.training.checkpoints.store import Checkpoints

from .saves import save


def test_the_newest_save_comes_first_and_what_cannot_be_read_last(checkpoints: Checkpoints) -> None:
    for step in (5, 9, 7):
        save(checkpoints, step, best=step == 9)
    (checkpoints.folder / "step-00000009" / "MANIFEST.json").write_text("{}")
    found = listing.published(checkpoints.folder)
    assert [entry.step for entry in found] == [7, 5, 9]
    assert [entry.serial for entry in found] == [3, 1, 0]
    assert found[0].name == "step-00000007"


def test_one_that_is_being_replaced_counts_until_the_new_one_is_there(checkpoints: Checkpoints) -> None:
    folder = save(checkpoints, 5).parent
    aside = folder / f"{listing.REPLACED}{listing.directory_name(5)}"
    (folder / listing.directory_name(5)).rename(aside)
    assert listing.places(folder) == {5: aside}
    save(checkpoints, 5)
    assert listing.places(folder) == {5: folder / "step-00000005"}


def test_other_names_do_not_count(tmp_path: Path) -> None:
    for name in ("step-1", "step-0000000a", ".tmp-step-00000001-ab", "notes", "LAST"):
        (tmp_path / name).mkdir()
    assert listing.places(tmp_path) == {}
    assert listing.places(tmp_path / "none") == {}


def test_a_pointer_names_its_checkpoint_or_is_refused(tmp_path: Path) -> None:
    assert listing.pointed(tmp_path, "LAST") is None
    text = listing.pointer_text("LAST", "step-00000003")
    (tmp_path / "LAST").write_text(text)
    assert listing.pointed(tmp_path, "LAST") == "step-00000003"
    (tmp_path / "BEST").write_text(text)  # one file copied over the other
    for name, content in (("BEST", text), ("LAST", text.replace("3", "4", 1)), ("LAST", ""), ("LAST", "step-00000003\n")):
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=rf"{name} is damaged; delete it, and the newest one marked {name.lower()}"):
            listing.pointed(tmp_path, name)
