"""Traces for tests: small ones whose numbers are known, hostile ones, and a large one."""

from collections.abc import Sequence

import numpy as np

from saccade.view.trace import Axis, Look, Scene, Trace, Weights

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
    axes = {"source": Axis("characters", ["a", " ", "م", "漢"]), "written": Axis("characters", ["x", "y", "z"])}
    own = softmax(np.random.default_rng(0).normal(size=(1, 4, 4)))
    looks = [Look("cross", "written", "source", weights), Look("self", "source", "source", own)]
    return Scene(title, axes, looks, {"score": -0.125, "group": "en"})


def marked() -> Scene:
    """What else a scene may say: probabilities of written tokens, an unknown one, classes, a rollout and an attribution."""
    source = Axis("words", ["das", "Qzx", "Haus"], unknown=[1], classes=["article", "noun", "noun"])
    written = Axis("words", ["the", "house"], probabilities=np.array([0.97, 0.25], dtype=np.float32))
    signed = np.array([[[-0.5, 0.25, 1.0], [0.0, -2.0, 0.5]]], dtype=np.float32)
    seen = softmax(np.random.default_rng(1).normal(size=(2, 2, 3)))
    looks = [
        Look("gradient × input", "written", "source", signed, kind="attribution"),
        Look("cross-attention", "written", "source", seen),
        Look("rollout", "written", "source", seen[:1], kind="rollout"),
    ]
    return Scene("das Qzx Haus", {"source": source, "written": written}, looks)


def layered(places: int = 5) -> Scene:
    """Three layers of two heads: head 1 of layer 2 looks at the token before, all others anywhere."""
    labels = ["[CLS]", *(f"w{number}" for number in range(places - 2)), "[SEP]"]
    looks = []
    for layer in (1, 2, 3):
        weights = softmax(np.random.default_rng(layer).normal(size=(2, places, places)))
        if layer == 2:
            weights[1] = np.eye(places, k=-1)
            weights[1, 0, 0] = 1
        looks.append(Look(f"self-attention, layer {layer}", "input", "input", weights))
    return Scene("a text", {"input": Axis("pieces", labels)}, looks)


def hostile() -> Scene:
    text = "".join(HOSTILE)
    axes = {text: Axis(text, HOSTILE)}
    weights = np.eye(len(HOSTILE), dtype=np.float32)[None]
    return Scene(text, axes, [Look(text, text, text, weights)], {text: text})


def large(count: int = 2000) -> Scene:
    places = np.arange(count)
    near = np.exp(-0.5 * ((places[:, None] - places) / 12.0) ** 2)
    weights = (near / near.sum(1, keepdims=True)).astype(np.float32)
    axis = Axis("words", [f"word{place}" for place in places])
    return Scene("a long document", {"text": axis}, [Look("layer 0", "text", "text", weights[None])])


def document() -> Scene:
    """Three sentences of two, three and two words, two heads; the last sentence weighs most, its second word all of it."""
    weights = np.zeros((2, 3, 7), dtype=np.float32)
    weights[:, 0, :2], weights[:, 1, 2:5] = (0.5, 0.5), (0.25, 0.5, 0.25)
    weights[0, 2, 5:], weights[1, 2, 5:] = (0.0, 1.0), (0.5, 0.5)
    axes = {
        "words": Axis("words", ["good", "room", "bad", "سيئ", "漢字", "never", "again"]),
        "sentences": Axis("sentences", ["1", "2", "3"]),
        "label": Axis("label", ["negative"]),
    }
    above = np.array([[[0.25, 0.11, 0.64]]] * 2, dtype=np.float32)
    looks = [Look("words", "sentences", "words", weights), Look("sentences", "label", "sentences", above)]
    return Scene("a review", axes, looks)


def bag(count: int = 12, grid: tuple[int, int] | None = None, images: bool = True) -> Scene:
    """One query at instances with images of 4 × 5 pixels: the first head likes late ones, the second early ones."""
    rising = np.arange(1, count + 1, dtype=np.float32)
    weights = np.stack([rising, rising[::-1]])[:, None] / rising.sum()
    pixels = np.random.default_rng(0).integers(0, 256, (count, 4, 5, 3), dtype=np.uint8)
    axis = Axis("instances", [f"n{place}" for place in range(count)], pixels if images else None, grid)
    return Scene("a bag", {"bag": axis, "label": Axis("label", ["positive"])}, [Look("pool", "label", "bag", weights)])


def neighborhood(count: int = 6) -> Scene:
    """A node that gives itself nothing, and its neighbors the more the later they come."""
    rising = np.arange(count, dtype=np.float32)
    axes = {"node": Axis("node", ["n0"]), "neighbors": Axis("neighbors", [f"n{place}" for place in range(count)])}
    return Scene("a node", axes, [Look("layer 1", "node", "neighbors", (rising / rising.sum())[None, None])])


def caption(words: Sequence[str] = ("a", "dog", "on", "grass")) -> Scene:
    """Words over an image of 40 × 60 pixels with a grid of 4 × 6 cells; word number n looks mostly at cell n."""
    rows, columns = np.mgrid[0:40, 0:60]
    image = np.stack([rows * 5, columns * 4, 255 - rows * 5], axis=-1).astype(np.uint8)
    weights = np.full((1, len(words), 24), 0.5 / 23, dtype=np.float32)
    for word in range(len(words)):
        weights[0, word, word % 24] = 0.5
    axes = {"caption": Axis("words", list(words)), "image": Axis("cells", [""] * 24, grid=(4, 6), image=image)}
    return Scene("a caption", axes, [Look("attention", "caption", "image", weights)])


def story() -> Scene:
    """Three statements, of which two matter, read twice."""
    axes = {
        "input": Axis("statements", ["John is here.", "Mary went home.", "John left."], marked=(0, 2)),
        "hops": Axis("hops", ["hop 1", "hop 2"]),
    }
    weights = np.array([[[0.7, 0.1, 0.2], [0.0, 0.25, 0.75]]], dtype=np.float32)
    return Scene("home: where?", axes, [Look("statements", "hops", "input", weights)])


def places() -> Scene:
    """A grid of 3 × 4 places over an image of 30 × 40 pixels; each looks mostly at itself. And gates."""
    image = np.add.outer(np.arange(30), np.arange(40)).astype(np.uint8) * 3
    weights = softmax(6 * np.eye(12) + np.random.default_rng(0).random((1, 12, 12)))
    names = [f"{row}, {column}" for row in range(3) for column in range(4)]
    axes = {
        "input": Axis("picture", names, grid=(3, 4), image=image),
        "output": Axis("label", ["x"]),
        "channels": Axis("channels", ["0", "1"]),
    }
    gates = Look("gates", "output", "channels", np.array([[[0.2, 0.7]]], dtype=np.float32))
    return Scene("a shoe", axes, [Look("self-attention", "input", "input", weights.astype(np.float32)), gates])


def glimpses(scales: int = 1) -> Scene:
    """Four glimpses of 8 × 8 pixels, and wider ones around them, down the diagonal of a gray image of 28 × 28."""
    image = np.add.outer(np.arange(28), np.arange(28)).astype(np.uint8) * 4
    sizes = [8.0 * 2**scale for scale in range(scales)]
    places = np.array([[[3 + 6 * s - n / 2, 3 + 6 * s - n / 2, n, n] for n in sizes] for s in range(4)], dtype=np.float32)
    axes = {"glimpses": Axis("steps", ["1", "2", "3", "4"]), "image": Axis("pixels", [], image=image)}
    return Scene("a digit", axes, [Look("glimpses", "glimpses", "image", places=places[:, 0] if scales == 1 else places)])


def edges() -> Scene:
    """A graph of 5 nodes in a ring, two heads: every node looks at the one before it, and at itself."""
    nodes = np.arange(5)
    index = np.stack([np.concatenate([nodes, (nodes - 1) % 5]), np.concatenate([nodes, nodes])])
    weights = np.array([[0.25] * 5 + [0.75] * 5, [0.5] * 10], dtype=np.float32)
    axes = {"nodes": Axis("nodes", [f"n{node}" for node in nodes])}
    return Scene("a ring", axes, [Look("layer 1", "nodes", "nodes", weights, index.astype(np.int64))])


def hostile_ones() -> list[Scene]:
    """A look of every drawing, all its texts hostile."""
    text, count = "".join(HOSTILE), len(HOSTILE)
    pixels = np.zeros((count, 2, 2), dtype=np.uint8)
    keys = [Axis(kind, HOSTILE) for kind in ("words", "neighbors", "instances")]
    keys += [Axis(text, HOSTILE, pixels), Axis(text, HOSTILE, pixels, (2, count // 2))]
    keys.append(Axis(text, HOSTILE, grid=(2, count // 2), image=pixels[0]))
    one = np.arange(count, dtype=np.float32)[None, None]
    scenes = [Scene(text, {"k": key, text: Axis(text, [text])}, [Look(text, text, "k", one)], {text: text}) for key in keys]
    own = np.eye(count, dtype=np.float32)[None]
    axes = {"k": Axis("words", HOSTILE), text: Axis("sentences", HOSTILE), "l": Axis(text, [text])}
    looks = [Look(text, text, "k", own), Look("above", "l", text, one)]
    places = np.tile(np.array([0, 0, 1, 1], dtype=np.float32), (count, 1))
    path = {"k": Axis(text, [], image=pixels[0]), text: Axis(text, HOSTILE)}
    glimpsed = Scene(text, path, [Look(text, text, "k", places=places)], {text: text})
    return [*scenes, Scene(text, axes, looks, {text: text}), glimpsed]


def trace(*scenes: Scene) -> Trace:
    return Trace("dates", scenes or (plain(),))
