"""Streams of text: whole characters, nothing of a stop string, wherever tokens are cut, and why a text ended."""

from itertools import product
from typing import Any

import pytest

from saccade.writers.text_stream import TextStream, decoded, stop_place, stopped_tokens


class Bytes:
    """A tokenizer whose tokens are bytes."""

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")


BYTES: Any = Bytes()


def test_a_character_waits_for_all_its_bytes() -> None:
    pieces = [[byte] for byte in "aé€b🙂".encode()]
    assert list(decoded(BYTES, pieces)) == ["a", "é", "€", "b", "🙂"]
    assert list(decoded(BYTES, [list(b"ab"), [], list(b"c")])) == ["ab", "c"]
    assert list(decoded(BYTES, [[0xE2], [0x82]])) == ["\N{REPLACEMENT CHARACTER}"]  # which never became a character


@pytest.mark.parametrize(
    ("text", "stop", "kept", "ended"),
    [
        ("one. two. three", (". t",), "one", "stop"),
        ("one. two", ("x",), "one. two", "end"),
        ("ab", ("b", "abc"), "a", "stop"),
        ("abcd", ("abc", "b"), "a", "stop"),
        ("xabc", ("c", "abcd"), "xab", "stop"),
        ("aaab", ("aab",), "a", "stop"),
        ("a\n", ("\n\n",), "a\n", "end"),
        ("a€b🙂c", ("🙂",), "a€b", "stop"),
        ("stop", ("stop",), "", "stop"),
        ("", ("stop",), "", "end"),
    ],
)
def test_a_stop_string_is_found_wherever_tokens_are_cut(text: str, stop: tuple[str, ...], kept: str, ended: str) -> None:
    data = list(text.encode())
    for cuts in product((False, True), repeat=min(len(data), 9)):
        tokens: list[list[int]] = [[]]
        for number, byte in enumerate(data):
            if number < len(cuts) and cuts[number]:
                tokens.append([])
            tokens[-1].append(byte)
        stream = TextStream(BYTES, tokens, limit=99, stop=stop)
        assert "".join(stream) == kept
        assert stream.ended == ended


def test_what_cannot_begin_a_stop_string_comes_at_once() -> None:
    pieces = TextStream(BYTES, [[byte] for byte in b"to be, to bed"], limit=99, stop=["bed", "beds"])
    assert list(pieces) == ["t", "o", " ", "be,", " ", "t", "o", " "]


def test_after_a_stop_string_nothing_more_is_decided() -> None:
    asked = []

    def tokens() -> Any:
        for byte in b"a.bcdef":
            asked.append(byte)
            yield [byte]

    assert "".join(TextStream(BYTES, tokens(), limit=99, stop=["."])) == "a"
    assert bytes(asked) == b"a."


def test_a_limit_is_named() -> None:
    for size, ended in ((3, "context"), (2, "end")):
        stream = TextStream(BYTES, [[97]] * size, limit=3, at_limit="context")
        assert (stream.ended, "".join(stream), stream.ended) == ("", "a" * size, ended)


def test_as_many_tokens_are_kept_as_the_stop_string_needs() -> None:
    assert stopped_tokens(BYTES, list(b"a. bc"), [". b"]) == 4
    assert stopped_tokens(BYTES, list(b"a. bc"), ["x"]) is None
    assert stop_place("a. bc", ["c", " b"]) == 2
