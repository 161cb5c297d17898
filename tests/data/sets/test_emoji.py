"""Emoji with captions: cut out of their sheets, variants of one emoji in one part."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from saccade.data.examples import Splits
from saccade.data.sets.emoji import SIZE, Config, family, load
from saccade.errors import DataError

STAGED = os.environ.get("SACCADE_DATA")
TONES = {"🏻": "light skin tone", "🏿": "dark skin tone"}
NAMES = ["grinning face", "waving hand", "detective", "woman detective", "flag: Mars"]


def made(directory: Path) -> None:
    """Five emoji, each a cell of one gray; the second has two skin tones, the last no caption in German."""
    folder = directory / "emoji"
    folder.mkdir(parents=True)
    pitch, sheet = SIZE + 2, np.zeros((3 * (SIZE + 2), 3 * (SIZE + 2), 4), np.uint8)
    for cell in range(7):
        row, column = (pitch * place + 1 for place in divmod(cell, 3))
        sheet[row : row + SIZE, column : column + SIZE] = (30 * cell, 30 * cell, 30 * cell, 255)
    sheet[1:9, 1:9] = 0  # see-through
    for vendor in ("google", "twitter"):
        Image.fromarray(sheet).save(folder / f"sheet_{vendor}_32.png")
    places = [{"sheet_x": cell % 3, "sheet_y": cell // 3, "image": f"{cell}.png"} for cell in range(7)]
    table: list[dict[str, Any]] = [
        {**places[number], "unified": f"{0x1F600 + number:X}-FE0F", "category": "Things"} for number in range(5)
    ]
    table[1]["skin_variations"] = {f"{ord(tone):X}": places[5 + number] for number, tone in enumerate(TONES)}
    write(folder / "emoji.json.gz", table)
    for language in ("en", "de", "fr"):
        known = NAMES if language == "en" else NAMES[:4]
        captions = {chr(0x1F600 + number): name for number, name in enumerate(known)} | TONES
        entries = {sign: {"default": ["x"], "tts": [caption]} for sign, caption in captions.items()}
        entries["🂡"] = {"default": ["no name"]}
        write(folder / f"cldr_annotations_{language}.json.gz", {"annotations": {"annotations": entries}})


def write(path: Path, table: Any) -> None:
    path.write_bytes(gzip.compress(json.dumps(table).encode()))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made(tmp_path)
    return tmp_path


def everything(splits: Splits) -> dict[str, Any]:
    return {example.name: example for _, part in splits.parts() for example in part}


@pytest.mark.usefixtures("directory")
def test_each_image_is_its_own_cell_and_has_its_caption() -> None:
    found = everything(load(Config()))
    captions = [*NAMES, "waving hand: light skin tone", "waving hand: dark skin tone"]
    assert {name: one.target for name, one in found.items()} == {
        f"{style}/{cell}.png": caption for style in ("noto", "twemoji") for cell, caption in enumerate(captions)
    }
    for name, one in found.items():
        cell = int(name.rpartition("/")[2][0])
        assert one.input.pixels.shape == (SIZE, SIZE, 3)
        assert (one.input.pixels[8:] == 30 * cell).all()
    assert (found["noto/0.png"].input.pixels[:8, :8] == 255).all()  # on white
    assert {one.group for one in found.values()} == {"Things"}


@pytest.mark.usefixtures("directory")
def test_style_language_and_skin_tones_are_chosen() -> None:
    assert set(everything(load(Config(style="noto", skin_tones=False)))) == {f"noto/{cell}.png" for cell in range(5)}
    german = everything(load(Config(style="twemoji", language="de")))
    assert set(german) == {f"twemoji/{cell}.png" for cell in (0, 1, 2, 3, 5, 6)}  # the flag has no German caption


def test_variants_of_one_emoji_are_one_family() -> None:
    assert family("woman detective") == family("man detective") == family("detective") == "detective"
    assert family("people holding hands") == family("woman and man holding hands").replace("and ", "") == "holding hands"
    assert family("grinning face") != family("waving hand")


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_family_is_in_one_part_with_all_styles_and_tones(share: float) -> None:
    splits = load(Config(valid=share / 2, test=share))
    parts = [{family(one.target.partition(": ")[0]) for one in part} for _, part in splits.parts()]
    assert sum(map(len, parts)) == len(set.union(*parts))
    for _, part in splits.parts():
        assert set(Counter(one.name.partition("/")[2] for one in part).values()) <= {2}  # both styles


def test_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"emoji/.* is missing"):
        load(Config())


@pytest.mark.skipif(not (STAGED and (Path(STAGED) / "emoji").is_dir()), reason="SACCADE_DATA has no emoji: not staged")
def test_the_published_emoji() -> None:
    splits = load(Config(skin_tones=False))
    sizes = [len(part) for _, part in splits.parts()]
    assert sum(sizes) > 2 * 1500
    assert all(0.07 < size / sum(sizes) < 0.13 for size in sizes[1:])
    families = [{family(one.target) for one in part} for _, part in splits.parts()]
    assert not families[0] & families[1]
    assert not families[0] & families[2]
    assert not families[1] & families[2]
    (grinning,) = (one for _, part in splits.parts() for one in part if one.name == "noto/1f600.png")
    assert grinning.target == "grinning face"
    red, _, blue = grinning.input.pixels[8:24, 8:24].mean((0, 1))
    assert red > blue + 50  # it is yellow
    assert len(load(Config()).train) > len(splits.train)
