"""Fonts: of a folder, of this machine, and the one that Pillow has where there is no other."""

from pathlib import Path

import pytest
from PIL import ImageFont

from saccade.data import word_fonts as found
from saccade.data.known import MissingData
from saccade.data.word_fonts import fonts
from saccade.errors import DataError


def own(folder: Path, name: str = "own.ttf") -> Path:
    """A file with the font that comes with Pillow."""
    folder.mkdir(parents=True, exist_ok=True)
    given = ImageFont.load_default(20)
    assert isinstance(given, ImageFont.FreeTypeFont)
    (folder / name).write_bytes(given.font_bytes)
    return folder


def test_fonts_of_a_folder_are_found_once_each(tmp_path: Path) -> None:
    own(tmp_path / "a", "one.ttf")
    own(tmp_path / "b", "same.otf")
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    (tmp_path / "readme.txt").write_text("no font")
    (font,) = fonts(str(tmp_path), 20)
    assert font.drawn.size == 20
    assert font.name
    assert font.digest not in ("", "built-in")


def test_a_folder_without_fonts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a folder with fonts \(\.ttf"):
        fonts(str(tmp_path), 20)


def test_a_machine_without_fonts_has_pillows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "system_folders", lambda: iter([tmp_path]))
    (font,) = fonts("system", 20)
    assert font.digest == "built-in"
    own(tmp_path / "sub")
    (font,) = fonts("system", 20)
    assert font.digest != "built-in"


def test_fonts_without_all_letters_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(tmp_path)
    monkeypatch.setattr(found, "LETTERS", "ab\u0561\u0562")  # Armenian, which it has not
    with pytest.raises(DataError):
        fonts(str(tmp_path), 20)


def test_published_fonts_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(MissingData, match="saccade data get fonts"):
        fonts("published", 20)
