"""A validation that failed, and what is said of what it failed by."""

from saccade.errors import SaccadeError


class Unvalidated(SaccadeError):  # noqa: N818 - reads as what it is
    """A validation that failed; what it failed by decides the exit code."""

    def __init__(self, text: str, exit_code: int, *, fix: str = "") -> None:
        super().__init__(text, fix=fix)
        self.exit_code = exit_code


def described(error: BaseException) -> tuple[str, int]:
    """What an error says on one line, and its exit code."""
    if isinstance(error, SaccadeError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError):
        return "out of memory", 1
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror, 1
    return " ".join(f"{type(error).__name__} {error}".split()), 1
