"""Traces for tests: small ones whose numbers are known, hostile ones, and a large one."""

import numpy as np

from saccade.view.trace import Look, Scene, Side, Trace, Weights

HOSTILE = [
    "<script>window.__pwned = 1</script>",
    '"><img src=x onerror="window.__pwned = 1">',
    "</script><script>window.__pwned = 1</script>",
    "\u202egpj.exe",
    "\x00",
    "\ud800",
    "\x1b[31mred\x1b]0;title\x07",
    "x" * 10_000,
    "\u2028{{script}}",
    "]]>&amp;",
]


def softmax(scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Weights:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True), dtype=np.float32)


def plain(title: str = "ab → xyz") -> Scene:
    """Two heads: the first looks at the same place, the second at the last."""
    weights = np.zeros((2, 3, 4), dtype=np.float32)
    for query in range(3):
        weights[0, query, query], weights[1, query, 3] = 1.0, 0.5
        weights[1, query, 0] = 0.25
    sides = {"source": Side("characters", ["a", " ", "م", "漢"]), "written": Side("characters", ["x", "y", "z"])}
    own = softmax(np.random.default_rng(0).normal(size=(1, 4, 4)))
    looks = [Look("cross", "written", "source", weights), Look("self", "source", "source", own)]
    return Scene(title, sides, looks, {"score": -0.125, "group": "en"})


def hostile() -> Scene:
    text = "".join(HOSTILE)
    sides = {text: Side(text, HOSTILE)}
    weights = np.eye(len(HOSTILE), dtype=np.float32)[None]
    return Scene(text, sides, [Look(text, text, text, weights)], {text: text})


def large(count: int = 2000) -> Scene:
    places = np.arange(count)
    near = np.exp(-0.5 * ((places[:, None] - places) / 12.0) ** 2)
    weights = (near / near.sum(1, keepdims=True)).astype(np.float32)
    side = Side("words", [f"word{place}" for place in places])
    return Scene("a long document", {"text": side}, [Look("layer 0", "text", "text", weights[None])])


def document() -> Scene:
    """Three sentences of two, three and two words, two heads; the last sentence weighs most, its second word all of it."""
    weights = np.zeros((2, 3, 7), dtype=np.float32)
    weights[:, 0, :2], weights[:, 1, 2:5] = (0.5, 0.5), (0.25, 0.5, 0.25)
    weights[0, 2, 5:], weights[1, 2, 5:] = (0.0, 1.0), (0.5, 0.5)
    sides = {
        "words": Side("words", ["good", "room", "bad", "سيئ", "漢字", "never", "again"]),
        "sentences": Side("sentences", ["1", "2", "3"]),
        "label": Side("label", ["negative"]),
    }
    above = np.array([[[0.25, 0.11, 0.64]]] * 2, dtype=np.float32)
    looks = [Look("words", "sentences", "words", weights), Look("sentences", "label", "sentences", above)]
    return Scene("a review", sides, looks)


def bag(count: int = 12, grid: tuple[int, int] | None = None, pictures: bool = True) -> Scene:
    """One query at instances with pictures of 4 × 5 pixels: the first head likes late ones, the second early ones."""
    rising = np.arange(1, count + 1, dtype=np.float32)
    weights = np.stack([rising, rising[::-1]])[:, None] / rising.sum()
    pixels = np.random.default_rng(0).integers(0, 256, (count, 4, 5, 3), dtype=np.uint8)
    side = Side("instances", [f"n{place}" for place in range(count)], pixels if pictures else None, grid)
    return Scene("a bag", {"bag": side, "label": Side("label", ["positive"])}, [Look("pool", "label", "bag", weights)])


def neighborhood(count: int = 6) -> Scene:
    """A node that gives itself nothing, and its neighbors the more the later they come."""
    rising = np.arange(count, dtype=np.float32)
    sides = {"node": Side("node", ["n0"]), "neighbors": Side("neighbors", [f"n{place}" for place in range(count)])}
    return Scene("a node", sides, [Look("layer 1", "node", "neighbors", (rising / rising.sum())[None, None])])


def hostile_ones() -> list[Scene]:
    """A look of every drawing, all its texts hostile."""
    text, count = "".join(HOSTILE), len(HOSTILE)
    pixels = np.zeros((count, 2, 2), dtype=np.uint8)
    keys = [Side(kind, HOSTILE) for kind in ("words", "neighbors", "instances")]
    keys += [Side(text, HOSTILE, pixels), Side(text, HOSTILE, pixels, (2, count // 2))]
    one = np.arange(count, dtype=np.float32)[None, None]
    scenes = [Scene(text, {"k": key, text: Side(text, [text])}, [Look(text, text, "k", one)], {text: text}) for key in keys]
    own = np.eye(count, dtype=np.float32)[None]
    sides = {"k": Side("words", HOSTILE), text: Side("sentences", HOSTILE), "l": Side(text, [text])}
    looks = [Look(text, text, "k", own), Look("above", "l", text, one)]
    return [*scenes, Scene(text, sides, looks, {text: text})]


def trace(*scenes: Scene) -> Trace:
    return Trace("dates", scenes or (plain(),))
