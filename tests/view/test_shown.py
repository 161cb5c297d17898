"""A trace that draws itself: files by their suffix, the terminal, and a notebook."""

import base64
import json
import os
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.errors import DataError, UnknownName, UsageError
from saccade.view import Scene, Shown, load

from .traces import HOSTILE, bag, caption, edges, glimpses, hostile, layered, plain, trace

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def test_the_suffix_chooses_the_file(tmp_path: Path) -> None:
    one, two = trace(), trace(plain("first"), plain("second"))
    starts = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}
    for suffix, start in starts.items():
        assert Shown(one).save(tmp_path / f"a.{suffix}") == [tmp_path / f"a.{suffix}"]
        assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)
    assert load(Shown(two).save(tmp_path / "b.TRACE")[0]).scenes[1].title == "second"
    assert Shown(two).save(str(tmp_path / "b.svg")) == [tmp_path / "b-1.svg", tmp_path / "b-2.svg"]
    assert "second" in texts((tmp_path / "b-2.svg").read_text(encoding="utf-8"))
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.svg, \.png, \.html, \.json, \.trace, \.safetensors, got \.gif"):
        Shown(trace()).save(tmp_path / "a.gif")
    for place in (tmp_path / "none" / "a.svg", "\x00.html"):
        with pytest.raises(DataError, match=r"cannot be written") as caught:
            Shown(trace()).save(place)
        assert str(caught.value).isprintable()
    (tmp_path / "full.png").mkdir()
    with pytest.raises(DataError, match=r"full\.png: cannot be written"):
        Shown(trace()).save(tmp_path / "full.png")
    with pytest.raises(UnknownName):
        Shown(trace(plain(), hostile()), look="cross").save(tmp_path / "a.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["full.png"]


def test_an_old_file_survives_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"a\.svg: cannot be written \(No space left on device\)"):
        Shown(trace()).save(path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.svg", "old")]


@pytest.mark.parametrize("scene", [plain(), bag(4), caption(), glimpses(), edges()])
def test_printing_gives_the_terminal_s_drawing(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(trace(scene))
    print(shown)
    printed = capsys.readouterr().out
    assert scene.title in printed
    more = "and 1 more: look.looks names them" if len(scene.looks) > 1 else ""
    assert printed.rstrip("\n") == str(shown)
    assert str(shown).startswith(shown.terminal())
    assert more in printed
    assert f"looks: '{scene.looks[0].name}'" in repr(shown)
    both = Shown(trace(scene, scene)).terminal(color=False, width=60)
    assert both.count(scene.title) == 2


def test_weights_are_arrays() -> None:
    shown = Shown(trace(plain(), plain()))
    assert shown.looks == ["cross", "self"]
    assert np.allclose(shown.weights()[0], [0.625, 0, 0, 0.25])
    assert np.allclose(shown.weights(head=1)[0], [0.25, 0, 0, 0.5])
    assert shown.weights("self", scene=1).shape == (4, 4)
    assert np.allclose(Shown(trace(), "cross", 1).weights()[0], [0.25, 0, 0, 0.5])
    with pytest.raises(UnknownName, match="did you mean 'cross'"):
        shown.weights("crss")
    with pytest.raises(UnknownName, match="did you mean 'cross'"):
        Shown(trace(), "crss")
    with pytest.raises(UsageError, match="scene from 0 to 1, got scene 2"):
        shown.weights(scene=2)
    with pytest.raises(UsageError, match="it has places, but no weights"):
        Shown(trace(glimpses())).weights()


def test_json_holds_every_number(tmp_path: Path) -> None:
    (path,) = Shown(trace(plain(), edges(), glimpses(), caption(), bag(2), hostile())).save(tmp_path / "a.json")
    told = json.loads(path.read_text(encoding="utf-8"))
    assert (told["format"], told["version"], told["system"]) == ("saccade-trace", 2, "dates")
    first, ring, digit, image, images, _ = told["scenes"]
    assert np.array_equal(first["looks"][0]["weights"], plain().looks[0].weights)
    assert np.array_equal(ring["looks"][0]["edges"], edges().looks[0].edges)  # type: ignore[arg-type]
    assert np.array_equal(digit["looks"][0]["places"], glimpses().looks[0].places)  # type: ignore[arg-type]
    assert image["axes"]["image"]["image"].startswith("data:image/png;base64,")
    assert len(images["axes"]["bag"]["images"]) == 2


class Frames(HTMLParser):
    """The frames of a piece of HTML, and every other tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []
        self.others: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.frames.append(dict(attrs))
        else:
            self.others.append(tag)


@pytest.mark.parametrize("scene", [plain(), hostile(), caption(), glimpses()])
def test_a_notebook_gets_one_frame_and_nothing_else(scene: Scene, tmp_path: Path) -> None:
    shown = Shown(trace(scene))
    (page,) = shown.save(tmp_path / "a.html")
    found = Frames(shown._repr_html_() + shown._repr_html_())  # several on one page
    assert found.others == []
    assert [frame["srcdoc"] for frame in found.frames] == [page.read_text(encoding="utf-8")] * 2
    assert all("allow-same-origin" not in (frame["sandbox"] or "") for frame in found.frames)
    assert HOSTILE[0] not in shown._repr_html_()


def test_an_editor_chooses_among_text_image_and_page() -> None:
    bundle = Shown(trace())._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "image/png", "text/html"]
    assert bundle["text/plain"].startswith("ab → xyz")
    assert "\x1b" not in bundle["text/plain"]
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/html"].startswith("<iframe")
    json.dumps(bundle)


def test_a_layer_is_named_by_its_number() -> None:
    shown = Shown(trace(layered()))
    assert np.array_equal(shown.weights(layer=2, head=1), shown.weights("self-attention, layer 2", 1))
    assert shown.weights(layer=3).shape == (5, 5)
    assert shown.of_layer(2).look == "self-attention, layer 2"
    assert Shown(trace(plain()), "self").of_layer(1).look == "self"
    with pytest.raises(UsageError, match="layer: expected a layer from 1 to 3, as 'self-attention, layer 1' has, got 4"):
        shown.weights(layer=4)
    with pytest.raises(UsageError, match="layer: expected layer 1 alone, as 'cross' has, got 2"):
        Shown(trace()).of_layer(2)
