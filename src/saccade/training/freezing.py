"""Parameters that are not trained, by patterns over their names."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from torch import nn

from saccade.errors import UsageError

SHOWN = 3  # names that are proposed instead of a pattern that fits none


def freeze(model: nn.Module, patterns: str) -> list[str]:
    """Let the parameters of these names, patterns with commas between, stay as they are; what is told of that.

    A tied parameter has several names, and is frozen by any of them.
    """
    wanted = [one.strip() for one in patterns.split(",") if one.strip()]
    if not wanted:
        return []
    every = list(model.named_parameters(remove_duplicate=False))
    for pattern in wanted:
        own = [one for name, one in every if fnmatchcase(name, pattern)]
        if not own:
            raise UsageError(f"train.freeze: no parameter is called {pattern!r}; {_near(pattern, [n for n, _ in every])}")
        for one in own:
            one.requires_grad_(False)
    frozen, total = (sum(one.numel() for one in model.parameters() if kept(one)) for kept in (_is_frozen, lambda one: True))
    if frozen == total:
        raise UsageError(f"train.freeze={patterns}: all parameters would be frozen; leave some to be trained")
    return [f"freezing {frozen:,} of {total:,} parameters"]


def _is_frozen(one: nn.Parameter) -> bool:
    return not one.requires_grad


def _near(pattern: str, names: Sequence[str]) -> str:
    """What may be meant: names, and the first parts of names, that are like it."""
    parts = [name.split(".") for name in names]
    above = [".".join([*part[:size], "*"]) for part in parts for size in range(1, len(part))]
    above, names = list(dict.fromkeys(above)), list(dict.fromkeys(names))
    near = get_close_matches(pattern, [*above, *names], SHOWN, 0.4)
    return f"did you mean {' or '.join(near or above[:SHOWN] or names[:SHOWN])}?"
