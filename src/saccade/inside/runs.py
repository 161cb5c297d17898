"""One input as a model takes it, from a tokenizer or processor of Hugging Face or as tensors; and letting a model write."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade.errors import UnknownName, UsageError
from saccade.inside.places import token_axis
from saccade.view.trace import Axis

NAMED = ("input", "output", "written")  # axes that `labels` may name: what is read, asks, and was written before
NEW_TOKENS = 40  # written by a model that reads and writes, unless said otherwise


@dataclass(frozen=True)
class LookRequest:
    """What `look` was asked for; see there."""

    target: str | None
    labels: Sequence[str] | Mapping[str, Sequence[str]] | None
    max_new_tokens: int | None
    num_beams: int
    layers: Sequence[int] | None
    rollout: bool
    flow: bool
    attributions: tuple[str, ...]


@dataclass
class ModelRun:
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
    named: Sequence[str] = ()
    "The axes whose places were named by the caller."

    @property
    def main(self) -> Tensor | None:
        """The tensor that holds the input."""
        names = ("pixel_values", "input_features", "input_values", "input_ids", "inputs_embeds")
        found = [self.kwargs[name] for name in names if isinstance(self.kwargs.get(name), Tensor)]
        return next((one for one in (*self.args, *found, *self.kwargs.values()) if isinstance(one, Tensor)), None)


def runs(model: nn.Module, inputs: Any, text: Any, ask: LookRequest) -> Iterator[ModelRun]:
    if not _is_processor(inputs):
        if text is not None:
            kind = type(inputs).__name__
            raise UsageError(f"look: expected a tokenizer or processor before a text, got {kind}; or give tensors alone")
        args = tuple(inputs) if isinstance(inputs, tuple | list) else () if isinstance(inputs, Mapping) else (inputs,)
        kwargs = dict(inputs) if isinstance(inputs, Mapping) else {}
        axes = _named_axes(ask.labels)
        yield ModelRun(type(model).__name__, args, kwargs, axes, writes=ask.max_new_tokens is not None, named=[*axes])
        return
    if ask.labels is not None:
        raise UsageError("labels: the tokenizer or processor names the places; leave labels out, or give tensors alone")
    if text is None:
        raise UsageError(
            'look: expected a text, a picture or sound behind the tokenizer, got none; look(model, tokenizer, "…")'
        )
    for one in text if isinstance(text, list) and not (text and isinstance(text[0], float)) else [text]:
        yield _processed(model, inputs, one, ask)


def _named_axes(labels: Any) -> dict[str, Axis]:
    """The axes whose places the caller has named."""
    named = labels if isinstance(labels, Mapping) else {} if labels is None else {"input": labels}
    for name, own in named.items():
        if name not in NAMED:
            raise UnknownName("axis in labels", str(name), NAMED)
        if not isinstance(own, Iterable):
            raise UsageError(f"labels: expected a list of labels for the places of {name!r}, got {type(own).__name__}")
    return {name: Axis("places", [str(label) for label in own]) for name, own in named.items()}


def _is_processor(inputs: Any) -> bool:
    return callable(inputs) and not isinstance(inputs, nn.Module | Tensor | Mapping)


def _processed(model: nn.Module, processor: Any, given: Any, ask: LookRequest) -> ModelRun:
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
    run = ModelRun(title, (), kwargs, tokenizer=tokenizer)
    if "input_ids" in kwargs and tokenizer is not None:
        run.axes["input"] = token_axis(tokenizer, kwargs["input_ids"][0].tolist())
    config: Any = getattr(model, "config", None)
    both = getattr(config, "is_encoder_decoder", False)
    run.writes = ask.max_new_tokens is not None or (both and ask.target is None)
    if both and ask.target is not None:
        ids = tokenizer(text_target=ask.target, return_tensors="pt")["input_ids"].to(device)
        start = torch.full_like(ids[:, :1], config.decoder_start_token_id)
        kwargs["decoder_input_ids"] = torch.cat((start, ids[:, :-1]), 1)
        run.axes["written"] = token_axis(tokenizer, kwargs["decoder_input_ids"][0].tolist())
        run.axes["output"] = token_axis(tokenizer, ids[0].tolist())
    return run


def generate(model: Any, run: ModelRun, ask: LookRequest) -> None:
    """Let a model write; what it wrote and the rows of the batch along the surviving path are noted."""
    # Whisper's own method cuts recordings into pieces, and returns other things.
    owner: Any = next((kind for kind in type(model).__mro__ if kind.__name__ == "GenerationMixin"), type(model))
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
