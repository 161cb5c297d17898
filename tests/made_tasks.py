"""Tasks for the tests of readers and writers: fitted as a run fits them, around a small model that nobody trained."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from saccade import systems
from saccade.data.examples import Example, Splits
from saccade.search import Config as SearchConfig
from saccade.task import Task
from saccade.training.settings import Settings, resolve
from saccade.view.trace import Scene, check
from saccade.writers.writer import Options, Prediction

# What tests rely on, whatever suits small data: characters, and labels without more than the paper has.
CHARACTERS = ("tokens.kind=char", "writer.share_tokenizer=false", "writer.metric=exact_match", "writer.label_smoothing=0.0")
PAPERS_WORDS = ("reader.spelling=0", "writer.agreement=0.0", "tokens.lower=false")
PLAIN = {"bahdanau": CHARACTERS, "luong": CHARACTERS, "seq2seq": CHARACTERS} | dict.fromkeys(
    ("document_attention", "atae_lstm"), PAPERS_WORDS
)
PLAIN["bag_of_words"] = ("model.ngrams=1", "writer.agreement=0.0", "tokens.lower=false")


def settings(system: str, *words: str) -> Settings:
    """Of this system with the user's own data, and these words."""
    return resolve({"system": system}, (*PLAIN.get(system, ()), *words))


def fitted(system: str, examples: Sequence[Example] | Splits, *words: str) -> Task:
    """The task of this system on these examples."""
    splits = examples if isinstance(examples, Splits) else Splits(examples, [], [])
    return Task.fit(settings(system, *words), splits)


def model(system: str, task: Task, *words: str, seed: int = 1, loud: float = 3.0) -> Any:
    """Not trained, but with opinions: what it puts out depends on what it reads."""
    torch.manual_seed(seed)
    made = systems.load(system).Model(settings(system, *words).model, **task.sizes())
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(loud)
    return made.eval()


def options(n_best: int = 1, *, looks: bool = False, groups: Sequence[str] = ("",), **search: Any) -> Options:
    """How predictions are made; several take a beam."""
    given = {"method": "beam", "beam": max(n_best, 4), "n_best": n_best} if n_best > 1 else {}
    return Options(SearchConfig(**{**given, **search}), looks, groups)


def nothing() -> Splits:
    """For inputs that name no example of a run's own data."""
    raise AssertionError("loaded in vain")


def predictions(
    task: Task, made: Any, inputs: Iterable[Any], how: Options | None = None, splits: Any = nothing
) -> list[list[Prediction]]:
    """Those of each input, best first."""
    return [found for _, found in task.predict(made, inputs, how or options(), splits)]


def scene(task: Task, made: Any, given: Any, how: Options | None = None, splits: Any = nothing) -> Scene:
    """A picture of the best prediction, checked."""
    ((example, found),) = task.predict(made, [given], how or options(looks=True), splits)
    assert example is not None
    drawn = task.scene(made, example, found[0])
    check(drawn)
    return drawn
