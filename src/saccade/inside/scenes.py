"""A look into any model: what it attended to on one input, as a trace that draws itself."""

import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.attention import Attended, Looks, through_layers
from saccade.errors import UnknownName, UsageError
from saccade.inside.attribution import METHODS, LogitSource
from saccade.inside.places import frame_axis, grid_of, group_size, number_axis, patch_axis
from saccade.inside.recording import looking
from saccade.inside.runs import LookRequest, ModelRun, generate, runs
from saccade.view.drawings import check_drawing
from saccade.view.shown import Shown, first_of
from saccade.view.trace import Axis, Look, Scene, Trace

Weights = NDArray[np.float32]
OFFSET = 2  # positions that RoBERTa and those after it leave unused
LARGEST = 200_000_000  # numbers that a scene holds
ALONE, ENCODER, DECODER, CROSSING = "self-attention", "encoder self-attention", "decoder self-attention", "cross-attention"
EMPTY: Weights = np.zeros((0, 0, 0), np.float32)
CROSS = re.compile(r"cross|enc_?dec|encoder_att|multihead_attn", re.IGNORECASE)
WITHIN = re.compile(r"(?:^|\.)(encoder|decoder)(?:\.|$)")
MOVED = "what moved the output: "


def look(
    model: nn.Module,
    inputs: Any,
    text: Any = None,
    *,
    target: str | None = None,
    labels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    max_new_tokens: int | None = None,
    num_beams: int = 1,
    layers: Sequence[int] | None = None,
    rollout: bool = False,
    flow: bool = False,
    attributions: str | Sequence[str] = (),
    drawing: str | None = None,
) -> Shown:
    """Where any PyTorch model attended; it draws itself in a notebook and prints in a terminal.

    saccade.look(bert, tokenizer, "The cat sat on the mat.")
    saccade.look(gpt2, tokenizer, "Once upon a time", max_new_tokens=20)
    saccade.look(vit, image_processor, picture)
    saccade.look(my_model, (source, target), labels={"input": words, "output": translation})

    `inputs` is a tokenizer or processor of Hugging Face for what follows: a text, a picture, samples of sound, two texts in
    a tuple, or a list of them, each a scene. Or it is what the model is called with: a tensor, a tuple, a dict; then
    `labels` names the places of its input, or by name those of `input` and `output`.

    `max_new_tokens` lets a language model write, with `num_beams` hypotheses: the looks are those of the tokens written,
    along the path that survived, and their probabilities are shown. A model that reads and writes does so unless `target`
    is given. `layers` (from 1) keeps some; `rollout` and `flow` add attention rollout and attention flow through all layers;
    `attributions` adds what moved the output: "gradient × input", "integrated gradients". `drawing` is that of `Shown`:
    heatmap, lines, overview.
    """
    attributions = [attributions] if isinstance(attributions, str) else attributions
    attributions = [method.replace(" x ", " × ") for method in attributions]
    check_drawing(drawing)
    _require_sound(model, inputs, text, writes=max_new_tokens is not None)
    for method in attributions:
        if method not in METHODS:
            raise UnknownName("attribution", method, METHODS)
    if layers is not None and (isinstance(layers, str) or not isinstance(layers, Iterable)):
        raise UsageError(f"layers: expected a list of numbers from 1, such as [1, 2], got {layers!r}")
    if max_new_tokens is not None and max_new_tokens < 1:
        raise UsageError(
            f"max_new_tokens: expected at least 1, got {max_new_tokens}; leave it out to look at the text alone"
        )
    ask = LookRequest(target, labels, max_new_tokens, num_beams, layers, rollout, flow, tuple(attributions))
    training, scenes = model.training, []
    model.eval()
    try:
        for run in runs(model, inputs, text, ask):
            scenes.append(_scene(model, run, ask))
    finally:
        model.train(training)
    asked = ["rollout"] * rollout + ["flow"] * flow
    return Shown(Trace(type(model).__name__, scenes), first_of(scenes, asked), drawing=drawing)


def _require_sound(model: Any, inputs: Any, text: Any, *, writes: bool) -> None:
    """Refuse what is easily given in place of another thing."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"look: expected a torch.nn.Module first, then its tokenizer or inputs, got {type(model).__name__}")
    if isinstance(inputs, str):
        raise UsageError("look: expected a tokenizer or tensors before the text; fix: saccade.look(model, tokenizer, text)")
    texts = text if isinstance(text, list | tuple) else [text]
    if any(isinstance(one, str) and not one.strip() for one in texts):
        raise UsageError("look: there is nothing to look at: the text is empty")
    if any(isinstance(one, int | float) for one in texts):
        raise UsageError(f"look: expected a text, a picture or sound, got {text!r}")
    if writes and not hasattr(model, "generate"):
        raise UsageError(f"look: {type(model).__name__} does not generate; leave max_new_tokens out")


def _scene(model: nn.Module, run: ModelRun, ask: LookRequest) -> Scene:
    with torch.no_grad(), looking(model) as looks, _within_its_length(model, run, ask):
        if run.writes:
            generate(model, run, ask)
        else:
            model(*run.args, **run.kwargs)
    scene = _Scene(run, ask)
    scene.attention(looks)
    for method in ask.attributions:
        scene.attribution(model, method)
    if not scene.looks and len(looks) and ask.layers is not None:
        raise UsageError(f"look: expected layers that {type(model).__name__} has, from 1, got {list(ask.layers)}")
    if not scene.looks:
        raise UsageError(f"look: expected a model that attends, got {type(model).__name__}, in which nothing was seen")
    used = {name for one in scene.looks for name in (one.queries, one.keys)}
    for name in run.named:
        if name not in used:
            raise _misnamed(
                name, len(run.axes[name].labels), [len(scene.axes[one].labels) for one in used if _other(one, name)]
            )
    return Scene(run.title, {name: axis for name, axis in scene.axes.items() if name in used}, scene.looks, run.notes)


@contextmanager
def _within_its_length(model: Any, run: ModelRun, ask: LookRequest) -> Iterator[None]:
    """Say of a text that is longer than a model has positions for that it is."""
    try:
        yield
    except (IndexError, RuntimeError):
        most = getattr(getattr(model, "config", None), "max_position_embeddings", None)
        ids = run.kwargs.get("input_ids")
        if not isinstance(most, int) or ids is None or ids.shape[-1] + (ask.max_new_tokens or 0) <= most - OFFSET:
            raise
        wanted = f" and {ask.max_new_tokens} new ones" if ask.max_new_tokens else ""
        told = (
            f"look: expected at most {most} tokens, as many as {type(model).__name__} has positions for, got {ids.shape[-1]}"
        )
        raise UsageError(f"{told}{wanted}; shorten the text{' or max_new_tokens' if wanted else ''}") from None


def _other(axis: str, name: str) -> bool:
    """Whether this axis stands in for the named one, whose labels did not fit."""
    return axis.startswith(f"{name}, ")


def _misnamed(name: str, count: int, sizes: Sequence[int]) -> UsageError:
    """Labels that name nothing that was looked at."""
    if not sizes:
        return UsageError(f"labels: there are no places of {name!r} to name in what this model attended to; leave them out")
    expected = " or ".join(map(str, sorted(set(sizes))))
    return UsageError(f"labels: expected {expected} labels for the {expected} tokens of {name!r}, got {count}")


class _Scene:
    """The axes and looks of one run."""

    def __init__(self, run: ModelRun, ask: LookRequest) -> None:
        self.run, self.ask = run, ask
        self.axes: dict[str, Axis] = dict(run.axes)
        self.looks: list[Look] = []
        self._numbers = 0

    def attention(self, recorded: Looks) -> None:
        """All attentions, named by what they are, and rollout and flow of those from one axis to itself."""
        kinds = _kinds(recorded)
        through = [name for name, ask in (("rollout", self.ask.rollout), ("flow", self.ask.flow)) if ask]
        layers: dict[str, list[Weights]] = {kind: [] for kind in kinds.values()}
        for name, kind in kinds.items():
            for calls in self._layers(recorded[name], kind):
                number = len(layers[kind]) + 1
                wanted = self.ask.layers is None or number in self.ask.layers
                weights = self._weights(calls, kind) if wanted or through else EMPTY
                layers[kind].append(weights)
                if wanted:
                    self._add(f"{kind}, layer {number}", kind, weights, layer=number)
        for kind, stack in layers.items():
            which = f", {kind.split()[0]}" if len(layers) > 1 else ""
            for of in through if all(one.shape[-2] == one.shape[-1] > 0 for one in stack) else []:
                self._add(f"attention {of}{which}", kind, through_layers.METHODS[of](stack), of)
        if through and all(one.kind not in through for one in self.looks):
            what = "expected attention from all of a text to itself, got parts"
            raise UsageError(f"{through[0]}: {what}; leave out max_new_tokens")

    def _layers(self, calls: list[Any], kind: str) -> Iterator[list[Attended]]:
        """The calls of a module, by layer: layers that share a module take turns, in every step of generation."""
        calls = [call for call in calls if isinstance(call, Attended)]
        turns = len(calls) // len(self.run.path) if self.run.path and kind != ENCODER else len(calls)
        yield from (calls[layer::turns] for layer in range(turns))

    def _weights(self, calls: list[Attended], kind: str) -> Weights:
        """(heads, queries, keys): of one call, or the last rows of many steps, with the keys where they stand."""
        if not self.run.path or kind == ENCODER:
            call = calls[0].call
            self._numbers += math.prod(call.query.shape[-3:-1]) * call.keys
            if self._numbers > LARGEST:
                fix = "keep some layers=[1, 2], or choose heads and rows with saccade.looking"
                raise UsageError(f"look: expected at most {LARGEST:,} weights, got more; {fix}")
            return _numbers(calls[0].weights(batch=0 if call.query.dim() > 3 else None))
        rows = [_numbers(call.weights(rows=[-1], batch=row)) for call, row in zip(calls, self.run.path, strict=False)]
        width = rows[0].shape[-1] if kind == CROSSING else len(self.run.prompt) + len(rows) - 1
        found = np.zeros((len(rows[0]), len(rows), width), np.float32)
        for step, row in enumerate(rows):
            end = width if kind == CROSSING else len(self.run.prompt) + step
            kept = row[:, 0, :end]  # a static cache has room behind, and a window has forgotten what was before
            found[:, step, end - kept.shape[-1] : end] = kept
        return found

    def _add(self, name: str, kind: str, weights: Weights, of: str = "attention", layer: int | None = None) -> None:
        """A look with its axes."""
        before = "written" if "written" in self.axes else "output"
        queries = "output" if self.run.path else before
        sides = {ENCODER: ("input", "input"), CROSSING: (queries, "input"), DECODER: (queries, before)}
        alone = (queries, before) if self.run.path else ("input", "input")
        queries, keys = sides.get(kind, alone)
        weights, queries = self._fit(weights, queries, keys=False)
        weights, keys = self._fit(weights, keys, keys=True)
        self.looks.append(Look(name, queries, keys, np.ascontiguousarray(weights), kind=of, layer=layer))

    def _fit(self, weights: Weights, name: str, *, keys: bool) -> tuple[Weights, str]:
        """The axis of this side: the one that is known, patches of a picture, frames, or numbers."""
        size = weights.shape[2 if keys else 1]
        main = self.run.main
        if name == "input" and main is not None and main.dim() == 4:
            grid = grid_of(size, *main.shape[-2:])
            if grid is not None:
                return self._patches(weights, main, grid, keys=keys)
        if name == "input" and "input_features" in self.run.kwargs:
            return self._frames(weights, size, keys=keys), "input"
        if name in self.axes and len(self.axes[name].labels) == size:
            return weights, name
        other = name if name not in self.axes else f"{name}, {size} places"
        self.axes.setdefault(other, number_axis(size))
        return weights, other

    def _patches(
        self, weights: Weights, main: Tensor, grid: tuple[int, tuple[int, int]], *, keys: bool
    ) -> tuple[Weights, str]:
        """Class token and registers ask, patches are looked at; where there is none, every patch asks."""
        extra, cells = grid
        self.axes.setdefault("picture", patch_axis(main[0], cells))
        if keys:
            return weights[:, :, extra:], "picture"
        if not extra:
            return weights, "picture"
        names = ["[CLS]", *(f"[token {number}]" for number in range(2, extra + 1))]
        self.axes.setdefault("class token", Axis("tokens", names))
        return weights[:, :extra], "class token"

    def _frames(self, weights: Weights, size: int, *, keys: bool) -> Weights:
        """Neighboring frames together: what is looked at is added up, what looks is averaged."""
        self.axes.setdefault("input", frame_axis(size))
        group = group_size(size)
        if group == 1:
            return weights
        axis = 2 if keys else 1
        starts = np.arange(0, size, group)
        total: Weights = np.add.reduceat(weights, starts, axis)
        return total if keys else (total / np.diff([*starts, size])[:, None]).astype(np.float32)

    def attribution(self, model: nn.Module, method: str) -> None:
        """What moved the logit of the class, or of each token that was written or comes next, through each place."""
        source = LogitSource(model, self.run)
        rows, labels, gaps = [], [], []
        for place, target in source.targets():
            logit = functools.partial(source.logit, place=place, target=target)
            rows.append(self._by_place(METHODS[method](logit, source.values, source.baseline)))
            labels.append(source.label(target))
            gaps.append(abs(rows[-1].sum().item() - source.change(place, target)))
        if method == "integrated gradients":
            self.run.notes["integrated gradients, error of the sum"] = max(gaps)
        queries = "output" if self.run.path else "prediction"
        self.axes.setdefault(queries, Axis("outputs", labels))
        weights = torch.stack(rows)[None].float().cpu().numpy()
        name = "picture" if self.axes.get("picture") and weights.shape[-1] == len(self.axes["picture"].labels) else "input"
        if self.run.path and not source.reads_apart:
            name = "written"
        if name not in self.axes or len(self.axes[name].labels) != weights.shape[-1]:
            name = f"{weights.shape[-1]} places"
            self.axes.setdefault(name, number_axis(weights.shape[-1]))
        self.looks.append(Look(MOVED + method, queries, name, np.ascontiguousarray(weights), kind="attribution"))

    def _by_place(self, moved: Tensor) -> Tensor:
        """One number a place: of a vector its sum, of a picture the sums of its patches."""
        moved = moved[0]
        picture = self.axes.get("picture")
        if moved.dim() == 3 and picture is not None and picture.grid is not None:
            rows, columns = picture.grid
            parts = moved.unflatten(2, (columns, -1)).unflatten(1, (rows, -1))
            return torch.as_tensor(parts.sum((0, 2, 4)).flatten())
        return moved.flatten(1).sum(-1) if moved.dim() > 1 else moved


def _kinds(names: Iterable[str]) -> dict[str, str]:
    """What each attention is, by the name of its module."""
    within = {name: WITHIN.search(name) for name in names}
    crossing = {name for name in within if CROSS.search(".".join(name.split(".")[-2:]))}
    if not crossing:
        return dict.fromkeys(within, ALONE)
    parts = {name: f"{found[1]} self-attention" if found else DECODER for name, found in within.items()}
    return {name: CROSSING if name in crossing else part for name, part in parts.items()}


def _numbers(weights: Tensor) -> Weights:
    """(heads, queries, keys) without the batch."""
    return weights.detach().float().cpu().reshape(-1, *weights.shape[-2:]).numpy()
