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


def trace(*scenes: Scene) -> Trace:
    return Trace("dates", scenes or (plain(),))
