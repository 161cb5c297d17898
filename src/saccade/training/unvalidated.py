"""A validation that failed."""

from saccade.errors import SaccadeError


class Unvalidated(SaccadeError):  # noqa: N818 - reads as what it is
    """A validation that failed; what it failed by decides the exit code."""

    def __init__(self, text: str, exit_code: int, *, fix: str = "") -> None:
        super().__init__(text, fix=fix)
        self.exit_code = exit_code
