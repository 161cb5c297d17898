"""A trace, or a drawing, as a file of the kind that its name asks for."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from saccade.errors import UsageError
from saccade.view import scene as scenes
from saccade.view.files import write
from saccade.view.html import framed, html
from saccade.view.labels import visible
from saccade.view.trace import Scene, Trace, check_trace
from saccade.view.trace_file import save

DRAWINGS = (".svg", ".png", ".html")
KINDS = (*DRAWINGS, ".trace", ".safetensors")


def save_picture(
    trace: Trace, path: str | Path, look: str | None = None, head: int | None = None, scale: int = 2
) -> list[Path]:
    """Writes the trace as its suffix says, and tells which files it wrote.

    .html holds every scene, look and head, and shows the chosen ones first; .trace and .safetensors hold all. .svg and
    .png show one look of one scene: several scenes become name-1.svg, name-2.svg and so on. `scale` is for .png.
    """
    target = Path(path)
    kind = kind_of(target)
    check_trace(trace)
    if kind in (".trace", ".safetensors"):
        save(trace, target)
        return [target]
    if kind == ".html":
        write(target, html(trace, look, head).encode())
        return [target]
    draw = _svg if kind == ".svg" else partial(_png, scale=scale)
    return _each(trace, target, partial(draw, look=look, head=head))


def save_drawing(drawing: str, path: str | Path, scale: int = 2) -> Path:
    """Writes an SVG drawing as its suffix says: as it is, as pixels, or on a page."""
    target = Path(path)
    kind = kind_of(target, DRAWINGS)
    if kind == ".png":
        from saccade.view.pixels import png  # Pillow takes a moment to load, and only pictures of pixels need it

        write(target, png(drawing, scale))
    else:
        write(target, (drawing if kind == ".svg" else framed(drawing)).encode())
    return target


def kind_of(path: Path, kinds: Sequence[str] = KINDS) -> str:
    """The suffix, if it is one that can be written."""
    kind = path.suffix.lower()
    if kind not in kinds:
        raise UsageError(
            f"{visible(str(path))}: expected a name that ends in {', '.join(kinds)}, got {visible(kind) or 'none'}"
        )
    return kind


def _each(trace: Trace, target: Path, draw: Callable[[Scene], bytes]) -> list[Path]:
    """One file per scene; all are drawn before the first is written, so that a wrong look leaves nothing behind."""
    pictures = [draw(scene) for scene in trace.scenes]
    numbered = [target.with_stem(f"{target.stem}-{number}") for number in range(1, len(pictures) + 1)]
    targets = [target] if len(pictures) == 1 else numbered
    for place, content in zip(targets, pictures, strict=True):
        write(place, content)
    return targets


def _svg(scene: Scene, *, look: str | None, head: int | None) -> bytes:
    return scenes.svg(scene, look, head).encode()


def _png(scene: Scene, *, look: str | None, head: int | None, scale: int) -> bytes:
    return scenes.png(scene, look, head, scale)
