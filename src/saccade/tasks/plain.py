"""What all tasks share whose models write no text: nothing is searched for, and an answer is given in one way only."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from saccade.data.examples import place
from saccade.errors import DataError, UsageError
from saccade.search import Config as SearchConfig
from saccade.systems.system import System
from saccade.tasks.prediction import Prediction, at_line


class PlainTask:
    """Everything around a model that says a label, a number, or which of several things it means."""

    BUDGET: ClassVar[int] = 20_000
    "Places of one batch without gradients."

    writes_text: ClassVar[bool] = False
    "There is nothing to search for."

    counted: ClassVar[str] = "tokens"
    "What a batch has so many of at most."

    parts: ClassVar[tuple[str, ...]] = ()
    "What is scored beside all examples and their groups."

    @classmethod
    def unfit(cls, splits: Any) -> Iterator[tuple[str, int, str]]:
        """What `fit` refuses: the part and place of each such example, and what is wrong with it; nothing."""
        return iter(())

    def require_sound(self, example: Any) -> None:
        """Refuse an example that could not be scored; any can."""

    def flaws(self, examples: Sequence[Any]) -> Iterator[tuple[int, str]]:
        """The place of each example that could not be scored, and what is wrong with it."""
        for index, example in enumerate(examples):
            try:
                self.require_sound(example)
            except (DataError, UsageError) as error:
                yield index, f"{place(example, index + 1)}: {error}"

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The scores that `evaluate` may give, known before anything is trained."""
        raise NotImplementedError("a task must define metrics(config)")

    def answer(self, model: Any, text: str, count: int, *, looks: bool) -> list[Prediction]:
        """What is said of one line, the `count` best of it."""
        raise NotImplementedError(f"{type(self).__name__} must define answer(model, text, count)")

    def predict(
        self,
        model: Any,
        texts: Iterable[str],
        search_config: SearchConfig,
        *,
        looks: bool = False,
        groups: Sequence[str] = ("",),
    ) -> Iterator[list[Prediction]]:
        """What is said of each line, one after the other."""
        for number, text in enumerate(texts, 1):
            with at_line(number):
                found = self.answer(model.eval(), text, search_config.n_best, looks=looks)
            yield found

    def evaluate(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """Scores of all examples ("all") and of each group."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate(model, examples, config)")

    def scores(self, model: System, examples: Sequence[Any], texts: Sequence[str]) -> dict[str, dict[str, float]]:
        """As `evaluate`: what was said would not tell how sure the model was."""
        return self.evaluate(model, examples, SearchConfig())

    def by_length(self, examples: Sequence[Any], texts: Sequence[str]) -> list[dict[str, float]]:
        """Scores of examples of like length, where examples have one."""
        raise UsageError("--lengths: expected a run that reads texts, got another; leave it out")

    def details(self, examples: Sequence[Any], texts: Sequence[str]) -> Mapping[str, Any]:
        """Nothing beside the scores."""
        return {}

    def begin(self, model: System, splits: Any, corpus: Any) -> None:
        """What is done to a new model, and told, before its first step; `corpus` is what it will learn from."""

    def kept(self) -> Any:
        """The data that is part of the run itself; nothing where it stays in its files."""
        return None

    def groups(self) -> list[str]:
        """An answer is given in one way only."""
        return [""]

    def signatures(self) -> dict[str, str]:
        """There is one way to count."""
        return {}

    def reading(self, model: System, text: str) -> dict[str, Tensor]:
        """Looks come with the prediction."""
        return {}
