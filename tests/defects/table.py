"""The table of defects: one line of the source made wrong in a way that happens, and the test that must notice.

Each room of `src/saccade` has a file here, `attention.toml` and so on, with an entry for every defect.
"""

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

from saccade import config

FOLDER = Path(__file__).parent
REPOSITORY = FOLDER.parents[1]
SOURCE = Path("src") / "saccade"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One line made wrong."""

    room: str
    "The package of saccade that the file is of, or the module itself."
    name: str
    "What it is called, in a few words with dashes."
    file: str
    "The file, below src/saccade."
    old: str
    "The text that is replaced; it must occur once."
    new: str
    "What it is replaced by."
    test: str
    "The test file, or the test in it (file::test), that must fail."
    means: str
    "What is wrong then, in a line."
    survives: str = ""
    "Why no test can notice; nothing: one must."

    @property
    def title(self) -> str:
        """The room and the name."""
        return f"{self.room}/{self.name}"

    def path(self, root: Path) -> Path:
        """The file in this copy of the repository."""
        return root / SOURCE / self.file

    def applied(self, root: Path) -> str:
        """The file's text with the defect in it; ValueError where it cannot be put there."""
        path = self.path(root)
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (found := text.count(self.old)) != 1:
            raise ValueError(
                f"{self.title}: expected {self.old!r} once in {self.file}, got it {found} times; mend the entry"
            )
        if not (root / self.test.partition("::")[0]).is_file():
            raise ValueError(f"{self.title}: expected a test file, got {self.test}; mend the entry")
        file, _, name = self.test.partition("::")
        if name and f"def {name.partition('[')[0]}(" not in (root / file).read_text(encoding="utf-8"):
            raise ValueError(f"{self.title}: expected a test of {file}, got {name}; mend the entry")
        broken = text.replace(self.old, self.new)
        try:
            ast.parse(broken)  # what cannot even be read is found by any test, and proves nothing of one
        except SyntaxError as error:
            raise ValueError(f"{self.title}: expected Python, got {error}; mend the entry") from None
        return broken


def defects(folder: Path = FOLDER) -> list[Defect]:
    """All entries, room after room."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["defect"]:
            found.append(config.build(Defect, {"room": path.stem, **entry}, f"{path.name} {entry.get('name', '')}"))
    return found


def stale(entries: list[Defect], root: Path = REPOSITORY) -> list[str]:
    """A line for each entry that no longer fits the source."""
    told = []
    for entry in entries:
        try:
            entry.applied(root)
        except ValueError as error:
            told.append(str(error))
    return told
