"""A look into any model: what it attended to on one input, as a trace that draws itself."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.attention import Attended, Looks
from saccade.errors import UnknownName, UsageError
from saccade.inside.attribution import METHODS, rollout
from saccade.inside.places import frame_axis, grid_of, group_size, number_axis, patch_axis, token_axis
from saccade.inside.recording import looking
from saccade.view.shown import Shown
from saccade.view.trace import Axis, Look, Scene, Trace

Weights = NDArray[np.float32]
LARGEST = 200_000_000  # numbers that a scene holds
NEW_TOKENS = 40  # written by a model that reads and writes, unless said otherwise
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
    attributions: Sequence[str] = (),
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
    is given. `layers` (from 1) keeps some; `rollout` adds attention rollout; `attributions` adds what moved the output:
    "gradient × input", "integrated gradients".
    """
    for method in attributions:
        if method not in METHODS:
            raise UnknownName("attribution", method, METHODS)
    ask = _Request(target, labels, max_new_tokens, num_beams, layers, rollout, tuple(attributions))
    training, scenes = model.training, []
    model.eval()
    try:
        for run in _runs(model, inputs, text, ask):
            scenes.append(_scene(model, run, ask))
    finally:
        model.train(training)
    return Shown(Trace(type(model).__name__, scenes))


@dataclass(frozen=True)
class _Request:
    target: str | None
    labels: Sequence[str] | Mapping[str, Sequence[str]] | None
    max_new_tokens: int | None
    num_beams: int
    layers: Sequence[int] | None
    rollout: bool
    attributions: tuple[str, ...]


@dataclass
class _Run:
    """One input as the model takes it, what is known of its places, and, of a model that wrote, what it wrote."""

    title: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    axes: dict[str, Axis] = field(default_factory=dict)
    tokenizer: Any = None
    writes: bool = False
    prompt: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    notes: dict[str, str | float] = field(default_factory=dict)

    @property
    def main(self) -> Tensor | None:
        """The tensor that holds the input."""
        names = ("pixel_values", "input_features", "input_values", "input_ids", "inputs_embeds")
        found = [self.kwargs[name] for name in names if isinstance(self.kwargs.get(name), Tensor)]
        return next((one for one in (*self.args, *found, *self.kwargs.values()) if isinstance(one, Tensor)), None)


def _runs(model: nn.Module, inputs: Any, text: Any, ask: _Request) -> Iterator[_Run]:
    if not _is_processor(inputs):
        if text is not None:
            kind = type(inputs).__name__
            raise UsageError(f"look: expected a tokenizer or processor before a text, got {kind}; or give tensors alone")
        args = tuple(inputs) if isinstance(inputs, tuple | list) else () if isinstance(inputs, Mapping) else (inputs,)
        kwargs = dict(inputs) if isinstance(inputs, Mapping) else {}
        named = ask.labels if isinstance(ask.labels, Mapping) else {"input": ask.labels} if ask.labels else {}
        axes = {name: Axis("places", [str(label) for label in own]) for name, own in named.items()}
        yield _Run(type(model).__name__, args, kwargs, axes, writes=ask.max_new_tokens is not None)
        return
    if text is None:
        raise UsageError(
            'look: expected a text, a picture or sound behind the tokenizer, got none; look(model, tokenizer, "…")'
        )
    for one in text if isinstance(text, list) and not (text and isinstance(text[0], float)) else [text]:
        yield _processed(model, inputs, one, ask)


def _is_processor(inputs: Any) -> bool:
    return callable(inputs) and not isinstance(inputs, nn.Module | Tensor | Mapping)


def _processed(model: nn.Module, processor: Any, given: Any, ask: _Request) -> _Run:
    """What a tokenizer or processor makes of one text, picture or recording."""
    tokenizer = getattr(processor, "tokenizer", processor)
    tokenizer = tokenizer if hasattr(tokenizer, "convert_ids_to_tokens") else None
    texts = given if isinstance(given, tuple) else (given,)
    encoded = processor(*texts, return_tensors="pt")
    device = next(model.parameters()).device
    taken = inspect.signature(model.forward).parameters
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
    kwargs = {
        name: value.to(device) for name, value in encoded.items() if name in taken or (anything and name != "token_type_ids")
    }
    title = " / ".join(texts) if all(isinstance(one, str) for one in texts) else type(given).__name__
    run = _Run(title, (), kwargs, tokenizer=tokenizer)
    if "input_ids" in kwargs and tokenizer is not None:
        run.axes["input"] = token_axis(tokenizer, kwargs["input_ids"][0].tolist())
    both = getattr(getattr(model, "config", None), "is_encoder_decoder", False)
    run.writes = ask.max_new_tokens is not None or (both and ask.target is None)
    if both and ask.target is not None:
        ids = tokenizer(text_target=ask.target, return_tensors="pt")["input_ids"].to(device)
        start = torch.full_like(ids[:, :1], model.config.decoder_start_token_id)
        kwargs["decoder_input_ids"] = torch.cat((start, ids[:, :-1]), 1)
        run.axes["written"] = token_axis(tokenizer, kwargs["decoder_input_ids"][0].tolist())
        run.axes["output"] = token_axis(tokenizer, ids[0].tolist())
    return run


def _scene(model: nn.Module, run: _Run, ask: _Request) -> Scene:
    with torch.no_grad(), looking(model) as looks:
        if run.writes:
            _generate(model, run, ask)
        else:
            model(*run.args, **run.kwargs)
    scene = _Scene(run, ask)
    scene.attention(looks)
    for method in ask.attributions:
        scene.attribution(model, method)
    if not scene.looks:
        raise UsageError(f"look: expected a model that attends, got {type(model).__name__}, in which nothing was seen")
    used = {name for one in scene.looks for name in (one.queries, one.keys)}
    return Scene(run.title, {name: axis for name, axis in scene.axes.items() if name in used}, scene.looks, run.notes)


def _generate(model: Any, run: _Run, ask: _Request) -> None:
    """Let a model write; what it wrote and the rows of the batch along the surviving path are noted."""
    # Whisper's own method cuts recordings into pieces, and returns other things.
    owner = next((kind for kind in type(model).__mro__ if kind.__name__ == "GenerationMixin"), type(model))
    options = {"max_new_tokens": ask.max_new_tokens or NEW_TOKENS, "num_beams": ask.num_beams, "do_sample": False}
    made = owner.generate(model, *run.args, **run.kwargs, **options, return_dict_in_generate=True, output_logits=True)
    ids, beams = made.sequences[0].tolist(), getattr(made, "beam_indices", None)
    steps = len(made.logits) if beams is None else beams.shape[1]
    run.path = [0] * steps if beams is None else [row for row in beams[0].tolist() if row >= 0]
    run.prompt = ids[: len(ids) - steps]
    run.written = ids[len(run.prompt) :][: len(run.path)]
    chosen = zip(made.logits, run.path, run.written, strict=False)
    chances = [logits[row].float().softmax(-1)[token].item() for logits, row, token in chosen]
    probabilities = np.array(chances, np.float32).clip(0, 1)
    before = [*run.prompt, *run.written[:-1]]
    if run.tokenizer is not None:
        run.axes["output"] = token_axis(run.tokenizer, run.written, probabilities)
        run.axes["written"] = token_axis(run.tokenizer, before)
        run.title = f"{run.title} → {run.tokenizer.decode(run.written, skip_special_tokens=True).strip()}"
    else:
        run.axes["output"] = Axis("tokens", list(map(str, run.written)), probabilities=probabilities)
        run.axes["written"] = Axis("tokens", list(map(str, before)))
    run.notes["log_prob"] = float(np.log(probabilities.clip(1e-30)).sum())


class _Scene:
    """The axes and looks of one run."""

    def __init__(self, run: _Run, ask: _Request) -> None:
        self.run, self.ask = run, ask
        self.axes: dict[str, Axis] = dict(run.axes)
        self.looks: list[Look] = []
        self._numbers = 0

    def attention(self, recorded: Looks) -> None:
        """All attentions, named by what they are, and rollout of those from one axis to itself."""
        kinds = _kinds(recorded)
        layers: dict[str, list[Weights]] = {kind: [] for kind in kinds.values()}
        for name, kind in kinds.items():
            for calls in self._layers(recorded[name], kind):
                number = len(layers[kind]) + 1
                wanted = self.ask.layers is None or number in self.ask.layers
                weights = self._weights(calls, kind) if wanted or self.ask.rollout else EMPTY
                layers[kind].append(weights)
                if wanted:
                    self._add(f"{kind}, layer {number}", kind, weights)
        for kind, stack in layers.items():
            if self.ask.rollout and all(one.shape[-2] == one.shape[-1] > 0 for one in stack):
                which = f", {kind.split()[0]}" if len(layers) > 1 else ""
                self._add(f"attention rollout{which}", kind, rollout(stack), "rollout")
        if self.ask.rollout and all(one.kind != "rollout" for one in self.looks):
            raise UsageError("rollout: expected attention from all of a text to itself, got parts; leave out max_new_tokens")

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

    def _add(self, name: str, kind: str, weights: Weights, of: str = "attention") -> None:
        """A look with its axes."""
        before = "written" if "written" in self.axes else "output"
        queries = "output" if self.run.path else before
        sides = {ENCODER: ("input", "input"), CROSSING: (queries, "input"), DECODER: (queries, before)}
        alone = (queries, before) if self.run.path else ("input", "input")
        queries, keys = sides.get(kind, alone)
        weights, queries = self._fit(weights, queries, keys=False)
        weights, keys = self._fit(weights, keys, keys=True)
        self.looks.append(Look(name, queries, keys, np.ascontiguousarray(weights), kind=of))

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
        total = np.add.reduceat(weights, starts, axis)
        return total if keys else total / np.diff([*starts, size])[:, None].astype(np.float32)

    def attribution(self, model: nn.Module, method: str) -> None:
        """What moved the logit of the class, or of each token that was written or comes next, through each place."""
        source = _Source(model, self.run)
        rows, labels = [], []
        for place, target in source.targets():
            moved = METHODS[method](lambda x, place=place, target=target: source.logit(x, place, target), source.values)
            rows.append(self._by_place(moved))
            labels.append(source.label(target))
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
            return parts.sum((0, 2, 4)).flatten()
        return moved.flatten(1).sum(-1) if moved.dim() > 1 else moved


class _Source:
    """A model as a function of the vectors that stand for its input: embeddings, or the input itself where it is numbers."""

    def __init__(self, model: Any, run: _Run) -> None:
        self._model, self._run = model, run
        kwargs, both = dict(run.kwargs), getattr(getattr(model, "config", None), "is_encoder_decoder", False)
        self.reads_apart = both
        if run.path:
            ids = torch.tensor([[*run.prompt, *run.written[:-1]]], device=next(model.parameters()).device)
            kwargs["decoder_input_ids" if both else "input_ids"] = ids
            if not both and "attention_mask" in kwargs:
                kwargs["attention_mask"] = torch.ones_like(ids)
        self._kwargs = kwargs
        self._embedding = _embedding(model) if run.main is None or not run.main.is_floating_point() else None
        self.values, self._logits = self._first()

    def _first(self) -> tuple[Tensor, Tensor]:
        """The vectors of the input, and the logits."""
        kept: list[Tensor] = []
        with torch.no_grad(), self._hooked(lambda output: kept.append(output) or output):
            logits = self._forward(None)
        values = kept[0] if kept else self._run.main
        if values is None:
            raise UsageError("attributions: expected a model with an embedding or an input of numbers, got neither")
        return values, logits

    def targets(self) -> list[tuple[int | None, int]]:
        """The places and classes whose logits are explained."""
        if self._run.path:
            first = self._logits.shape[1] - len(self._run.written)
            return [(first + number, token) for number, token in enumerate(self._run.written)]
        if self._logits.dim() == 2:
            return [(None, int(self._logits[0].argmax()))]
        masked = getattr(self._run.tokenizer, "mask_token_id", None)
        ids = self._run.kwargs.get("input_ids")
        places = [] if ids is None or masked is None else (ids[0] == masked).nonzero().flatten().tolist()
        return [(place, int(self._logits[0, place].argmax())) for place in places or [self._logits.shape[1] - 1]]

    def label(self, target: int) -> str:
        """What a class, or a token, is called."""
        if self._logits.dim() == 2:
            named = getattr(getattr(self._model, "config", None), "id2label", None) or {}
            return str(named.get(target, target))
        tokenizer = self._run.tokenizer
        return str(target) if tokenizer is None else token_axis(tokenizer, [target]).labels[0]

    def logit(self, values: Tensor, place: int | None, target: int) -> Tensor:
        """The logit as a function of the vectors."""
        with self._hooked(lambda output: values):
            logits = self._forward(values)
        return logits[0, target] if place is None else logits[0, place, target]

    def _forward(self, values: Tensor | None) -> Tensor:
        args, kwargs = self._run.args, self._kwargs
        if self._embedding is None and values is not None:
            args = tuple(values if one is self._run.main else one for one in args)
            kwargs = {name: values if one is self._run.main else one for name, one in kwargs.items()}
        output = self._model(*args, **kwargs)
        logits = output if isinstance(output, Tensor) else getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.dim() not in (2, 3):
            kind = type(self._model).__name__
            raise UsageError(f"attributions: expected a model that gives logits, got {kind}; take one with a head")
        return logits

    @contextmanager
    def _hooked(self, change: Callable[[Tensor], Any]) -> Iterator[None]:
        """The first output of the embedding is changed."""
        if self._embedding is None:
            yield
            return
        calls: list[int] = []

        def hook(module: nn.Module, args: object, output: Tensor) -> Tensor | None:
            calls.append(1)
            changed: Tensor = change(output) if len(calls) == 1 else output
            return changed

        handle = self._embedding.register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()


def _embedding(model: Any) -> nn.Module:
    """The embedding of the input's tokens."""
    own = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    found = own if own is not None else next((part for part in model.modules() if isinstance(part, nn.Embedding)), None)
    if not isinstance(found, nn.Module):
        raise UsageError(f"attributions: expected a model with an embedding, got {type(model).__name__}, which has none")
    return found


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
