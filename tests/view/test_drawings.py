"""Which drawing a look takes: by what was looked at and by how many; every drawing works everywhere."""

import dataclasses
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.errors import UnknownName, UsageError
from saccade.view import Shown, render
from saccade.view.drawings import DRAWINGS, drawing_of
from saccade.view.html_page import html
from saccade.view.trace import Axis, Look, Scene

from .traces import bag, caption, document, edges, glimpses, layered, marked, places, plain, story, trace

SIGNED = np.array([[[-1.0, 0.5, 0.25]]], dtype=np.float32)


def one_at(kind: str) -> Scene:
    axes = {"keys": Axis(kind, ["a", "b", "c"]), "label": Axis("label", ["x"])}
    return Scene("t", axes, [Look("l", "label", "keys", np.array([[[0.2, 0.5, 0.3]]], dtype=np.float32))])


def two_at(scene: Scene) -> Scene:
    """The same, from two queries."""
    look = scene.looks[0]
    axes = {**scene.axes, "label": Axis("label", ["x", "y"])}
    return dataclasses.replace(scene, axes=axes, looks=[dataclasses.replace(look, weights=look.weights.repeat(2, axis=1))])


EXPECTED = {
    "words": (one_at("words"), "shaded_text"),
    "neighbors": (one_at("neighbors"), "neighborhood"),
    "instances": (one_at("instances"), "bars"),
    "channels": (one_at("channels"), "heatmap"),
    "several queries": (two_at(one_at("words")), "heatmap"),
    "document": (document(), "shaded_text"),
    "images": (bag(), "gallery"),
    "images from several": (two_at(bag()), "heatmap"),
    "tiles": (bag(12, (3, 4)), "overlay"),
    "matrix": (plain(), "heatmap"),
    "edges": (edges(), "heatmap"),
    "caption": (caption(), "image_steps"),
    "one query at a grid over an image": (caption(["dog"]), "image_steps"),
    "tiles from several": (two_at(bag(12, (3, 4))), "image_steps"),
    "statements of a story": (story(), "statement_table"),
    "places of an image at each other": (places(), "place_map"),
    "glimpses": (glimpses(), "glimpse_path"),
    "glimpses of several scales": (glimpses(3), "glimpse_path"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_kind_chooses_the_drawing(name: str, tmp_path: Path) -> None:
    shown, expected = EXPECTED[name]
    assert drawing_of(shown, shown.looks[0]).name == expected
    assert shown.title in render.terminal(shown, color=True, width=40)
    for head in range(shown.looks[0].heads):
        assert render.svg(shown, head=head).startswith("<svg")
    for suffix in ("svg", "png", "html", "json"):
        (path,) = Shown(trace(shown)).save(tmp_path / f"a.{suffix}")
        assert path.stat().st_size > 300


def test_every_drawing_fits_something_and_the_page_knows_it() -> None:
    taken = {id(drawing_of(shown, shown.looks[0])) for shown, _ in EXPECTED.values()}
    named = {id(drawing_of(plain(), plain().looks[0], name)) for name in ("lines", "overview")}
    named |= {id(drawing_of(layered(), layered().looks[0], name)) for name in ("arcs", "head_grid")}
    named |= {id(drawing_of(caption(), caption().looks[0], name)) for name in ("image_cells", "scan_path")}
    assert taken | named == {id(drawing) for drawing in DRAWINGS}
    assert not taken & named  # never drawn unless they are asked for
    for shown, name in EXPECTED.values():
        assert ("DRAWINGS.gallery = " in html(trace(shown))) == (name == "gallery")  # the page holds what it needs


def test_a_drawing_is_asked_for_by_name(tmp_path: Path) -> None:
    assert "cross-attention" in render.terminal(marked(), drawing="overview", color=False, width=80)
    (path,) = Shown(trace()).save(tmp_path / "a.svg", drawing="lines")
    assert "looked at" in path.read_text(encoding="utf-8")
    assert Shown(trace(), drawing="lines").save(tmp_path / "b.png")[0].stat().st_size > 300
    assert '"view":"lines"' in html(trace(), drawing="lines")
    with pytest.raises(UnknownName, match="unknown drawing 'line'; did you mean 'lines'"):
        Shown(trace(), drawing="line")
    with pytest.raises(UsageError, match="'cross' cannot be drawn as bars; it can be drawn as heatmap, lines, overview"):
        Shown(trace(), drawing="bars").save(tmp_path / "c.svg")
    with pytest.raises(UsageError, match="it can be drawn as glimpse_path"):
        render.svg(glimpses(), drawing="overview")


def test_an_attribution_has_colors_of_its_own_everywhere() -> None:
    attribution = dataclasses.replace(one_at("words").looks[0], kind="attribution", weights=SIGNED)
    for kind in ("words", "neighbors", "instances", "channels"):
        scene = dataclasses.replace(one_at(kind), looks=[attribution])
        drawing = render.svg(scene)
        assert "what moved the output, not attention" in drawing
        assert "moved by" in drawing or "down: label" in drawing
        assert "#ffb03b" not in drawing  # the color of attention at words and instances
        assert drawing_of(scene, attribution).name != "neighborhood"
    for scene, expected in ((bag(3), "bars"), (bag(3, (1, 3)), "overlay"), (caption(["a"]), "overlay")):
        weights = np.resize(SIGNED, (1, 1, scene.looks[0].weights.shape[2]))
        signed = dataclasses.replace(scene.looks[0], kind="attribution", weights=weights)
        assert drawing_of(dataclasses.replace(scene, looks=[signed]), signed).name == expected


def test_places_that_count_keep_their_numbers() -> None:
    axes = {"keys": Axis("neighbors", [str(place) for place in range(40)]), "node": Axis("node", ["0"])}
    counted = Scene("t", axes, [Look("l", "node", "keys", np.eye(40, dtype=np.float32)[None, 7:8])])
    assert " 7  1.000" in render.terminal(counted, color=False, width=60)


def test_a_side_named_as_what_it_is_made_of_says_it_once() -> None:
    assert "label looked at keys (words)" in render.terminal(one_at("words"), color=False, width=60)


def test_a_gallery_frames_the_heaviest(tmp_path: Path) -> None:
    shown = render.svg(bag(70), head=0)
    assert shown.count("<image") == 60
    assert "10 more images, none heavier than these, are left out" in shown
    assert ">n9<" not in shown
    assert shown.index(">n10<") < shown.index(">n11<") < shown.index(">n69<")
    assert 'image-rendering="pixelated"' in shown
    (path,) = Shown(trace(bag(3)), head=0).save(tmp_path / "a.png")
    colors = {color for _, color in Image.open(io.BytesIO(path.read_bytes())).convert("RGB").getcolors(1 << 20) or []}
    assert (255, 176, 59) in colors  # the strongest frame
    images = bag(3).axes["bag"].images
    assert images is not None
    assert {tuple(pixel) for pixel in images.reshape(-1, 3).tolist()} <= colors  # every pixel, unmixed


def test_images_without_labels_are_numbered_in_the_terminal() -> None:
    one = bag(3)
    bare = dataclasses.replace(one, axes={**one.axes, "bag": dataclasses.replace(one.axes["bag"], labels=["", "", ""])})
    lines = render.terminal(bare, head=0, color=False, width=60).splitlines()[-3:]
    assert [line.split()[:2] for line in lines] == [["0", "0.167"], ["1", "0.333"], ["2", "0.500"]]
    assert '""' not in render.svg(bare)


def test_instances_keep_their_order() -> None:
    lines = render.terminal(bag(70, images=False), head=1, color=False, width=60).splitlines()
    assert [line.split()[0] for line in lines[2:62]] == [f"n{place}" for place in range(60)]
    assert lines[-1] == "10 more instances, none heavier than these, are left out"
    shown = render.svg(bag(70, images=False), head=1)
    assert shown.index(">n0<") < shown.index(">n59<")
    assert ">n60<" not in shown
    assert "<image" not in shown


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, -2.0], [3e38, -3e38], [1e-30, 2e-30]])
@pytest.mark.parametrize("make", [lambda: bag(2), lambda: bag(2, (1, 2)), lambda: bag(2, images=False)])
def test_any_weights_can_be_drawn(make: object, weights: list[float]) -> None:
    one = make()  # type: ignore[operator]
    look = dataclasses.replace(one.looks[0], weights=np.array([[weights]], dtype=np.float32))
    odd = dataclasses.replace(one, looks=[look])
    drawing = render.svg(odd)
    assert "nan" not in drawing.split("base64")[0]
    assert "inf" not in drawing.split("base64")[0]
    assert render.png(odd, scale=1).startswith(b"\x89PNG")
    render.terminal(odd, color=False, width=30)
