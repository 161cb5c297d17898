"""What stands among the checkpoints: in the order of their saves."""

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
