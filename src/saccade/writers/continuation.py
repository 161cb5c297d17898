"""What a text goes on with: language models, which are trained on running text and write on from a prompt."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.config import Positive
from saccade.data.batches import ALL, Integers
from saccade.data.draws import Draws
from saccade.data.examples import Example
from saccade.data.stored.running_texts import RunningTexts
from saccade.data.stored.token_stream import token_stream
from saccade.data.tensors import Batch, TextTarget, padded
from saccade.errors import DataError
from saccade.evaluation.likelihood import Likelihood
from saccade.evaluation.text_scores import perplexity
from saccade.search import search, stream
from saccade.writers import text
from saccade.writers.chances import Chances, OutputSlot
from saccade.writers.strided_windows import likelihood
from saccade.writers.text_stream import Ended, TextStream
from saccade.writers.writer import Loss, Options, Prediction, ReaderTokens


@dataclass(frozen=True, kw_only=True)
class Config:
    """How running text becomes training examples."""

    context_length: Positive = 1024
    "Tokens of a training window, and the maximum that the model attends to."
    slide: bool = False
    "Whether a text goes on when the context is full, from the later half of it; else it ends there."


class Windows:
    """Running text as windows of tokens: in order for evaluation, at random places for training."""

    def __init__(self, tokens: NDArray[np.integer], context: int) -> None:
        self.tokens, self.context = tokens, context
        self.limit = f"writer.context_length={context}"
        self.inputs = self.targets = None

    @cached_property
    def lengths(self) -> Integers:
        """How many tokens each window predicts."""
        starts = np.arange(0, max(len(self.tokens) - 1, 1), self.context)
        return np.minimum(self.context, len(self.tokens) - 1 - starts)

    def batch(self, indices: Any) -> Batch:
        """The windows with these numbers, one after the other in the text."""
        return self.at([int(i) * self.context for i in indices])

    def at(self, starts: Sequence[int]) -> Batch:
        """The windows that start after these tokens."""
        rows = [self.tokens[start + 1 : start + 1 + self.context].tolist() for start in starts]
        return Batch(None, TextTarget(*padded(rows), torch.from_numpy(self.tokens[list(starts)].astype(np.int64))))

    def batches(self, config: Any) -> "RandomWindows":
        """Where training batches come from."""
        return RandomWindows(self, config.batch_size or max(1, config.batch_tokens // self.context), config.seed)


class RandomWindows:
    """Windows at random places: those of batch n depend on the seed and n alone."""

    def __init__(self, windows: Windows, size: int, seed: int) -> None:
        self.windows, self.size, self.seed, self.drawn = windows, size, seed, 0
        self.part = ALL

    @property
    def epoch(self) -> int:
        """How often as many tokens as there are were read."""
        return self.drawn * self.size * self.windows.context // len(self.windows.tokens)

    def next(self) -> Batch:
        """The next batch."""
        last = max(len(self.windows.tokens) - 1 - self.windows.context, 0)
        starts = Draws(self.seed, self.drawn).whole(0, last, self.size)
        self.drawn += 1
        batch: Batch = self.part.batch(starts.tolist(), self.windows.at)
        return batch

    def state(self) -> dict[str, int]:
        """Where it stands."""
        return {"drawn": self.drawn}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from there."""
        self.drawn = state["drawn"]

    def steps(self, epochs: float) -> int:
        """How many batches read so many times as many tokens as there are."""
        return max(1, math.ceil(epochs * len(self.windows.tokens) / (self.size * self.windows.context)))


class Writer(ReaderTokens, text.Writer):
    """Writes on from prompts, which the reader reads with the same tokenizer."""

    VERB, CONTINUES, PREDICTED, OWN = "generate", True, False, "running_text"
    config: Config  # type: ignore[assignment]

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("loss", "perplexity")

    def sizes(self) -> dict[str, Any]:
        return {"context_length": self.config.context_length}

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        if isinstance(examples, RunningTexts):
            self.corpus(examples)  # tokens are made before the first step, where one process makes them for all
        return iter(())

    def corpus(self, examples: Sequence[Example]) -> Windows:
        """All texts one after the other, with the end token between them."""
        if isinstance(examples, RunningTexts):
            return Windows(token_stream(examples, self.tokenizer), self.config.context_length)
        rows = self.tokenizer.encode_batch([example.target for example in examples])
        joined = [np.array([*row, self.vocabulary.end], dtype=np.int64) for row in rows]
        return Windows(np.concatenate(joined), self.config.context_length)

    def first(self, group: str) -> int:
        return self.vocabulary.end

    def groups(self) -> list[str]:
        return [""]

    @property
    def banned(self) -> tuple[int, ...]:
        """What is never written: also the unknown token, which stands for no text."""
        unknown = self.vocabulary.unknown
        return self.vocabulary.banned if unknown is None else (*self.vocabulary.banned, unknown)

    def _from(self, batch: Batch) -> dict[str, Any]:
        """Where search begins: prompts, without the first token of each, which stands for the start."""
        rows = [row[:size] for row, size in zip(batch.input.tokens.tolist(), batch.input.lengths.tolist(), strict=True)]
        rows = [row or [self.vocabulary.end] for row in rows]
        return {
            "inputs": len(rows),
            "start": [row[0] for row in rows],
            "prompts": [row[1:] for row in rows],
            "end": self.vocabulary.end,
            "banned": self.banned,
            "device": batch.input.tokens.device,
        }

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        given = self._from(batch)
        if options.reading:
            self._places(given["prompts"], replace(options, slide=False))
            looks = model.reading(batch.input)
            return [[Prediction("", looks=[look.of(row) for look in looks])] for row in range(len(positions))]
        given |= {"context_length": self._places(given["prompts"], options)}
        best = search(model, len(positions), options.search, looks=options.looks, positions=positions, **given)
        contexts = [[start, *prompt] for start, prompt in zip(given["start"], given["prompts"], strict=True)]
        return [
            [self._continued(one, context, options) for one in hypotheses]
            for hypotheses, context in zip(best, contexts, strict=True)
        ]

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        """Of every token of the text but its first, and of what comes next."""
        self._places([row[1:] for row in batch.input.tokens.tolist()], replace(options, slide=False))
        tokens = batch.input.tokens
        logs = model.log_probs(tokens)[0].double()
        own = logs[:-1].gather(1, tokens[0, 1:, None])[:, 0].cpu().numpy()
        ids = tokens[0, 1:].tolist()
        following = OutputSlot("next token", logs[-1].exp().cpu().numpy(), lambda index: self.tokenizer.labels([index])[0])
        return Chances(ids, self.tokenizer.labels(ids), own, [following])

    def _continued(self, hypothesis: Any, context: list[int], options: Options) -> Prediction:
        made = self._prediction(hypothesis, "", (), options.stop)
        ended = self._at_limit([context[1:]], options) if made.ended == "length" else made.ended
        return replace(made, context=self.tokenizer.labels(context), ended=ended)

    def stream(self, model: Any, batch: Batch, options: Options) -> TextStream:
        given = self._from(batch)
        places = self._places(given["prompts"], options)
        pieces = stream(model, 1, options.search, context_length=places, **given)
        size, most = len(given["prompts"][0]) + 1, options.search.max_length
        return TextStream(
            self.tokenizer,
            (new for (new,) in pieces),
            limit=most if places is None else min(most, places + 1 - size),
            at_limit=self._at_limit(given["prompts"], options),
            stop=options.stop,
        )

    def _places(self, prompts: Sequence[Sequence[int]], options: Options) -> int | None:
        """How many tokens may come before the last; None: any number. Prompts are without their first."""
        if self.config.slide if options.slide is None else options.slide:
            return None
        if (size := max(map(len, prompts)) + 1) > (most := self.config.context_length):
            fix = "shorten it, or let the context slide"
            raise DataError(f"prompt of {size} tokens, at most {most} expected (writer.context_length); {fix}")
        return self.config.context_length

    def _at_limit(self, prompts: Sequence[Sequence[int]], options: Options) -> Ended:
        """Which limit a text comes to first."""
        places = self._places(prompts, options)
        full = places is not None and places - len(prompts[0]) < options.search.max_length
        return "context" if full else "length"

    def likelihood(self, model: Any, texts: Iterable[str], stride: int | None, tick: Callable[[int], None]) -> Likelihood:
        """How likely a text is that comes in parts; each token has at least the context without the stride before it."""
        return likelihood(model, self.tokenizer, texts, self.config.context_length, stride, tick)

    def title(self, example: Example, prediction: Prediction) -> str:
        return super().title(example, prediction) if prediction.ended else str(example.input)

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return super().notes(example, prediction) if prediction.ended else {}

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        total, tokens, _ = loss(None)
        return {"all": {"examples": len(examples), "loss": total / tokens, "perplexity": perplexity(total / tokens)}}

    def choose_by(self) -> Sequence[str]:
        return ["loss"]

    def details(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Any]:
        return {"tokens": len(self.corpus(examples).tokens) - len(examples)}

    def signatures(self) -> dict[str, str]:
        return {}
