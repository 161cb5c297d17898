"""Texts cut into sentences."""

import pytest

from saccade.readers.sentence_splitting import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n ", []),
        ("One only", ["One only"]),
        ("It works. It is 3.5 stars! Really?", ["It works.", "It is 3.5 stars!", "Really?"]),
        ('He said "No." Then (he left.) Done', ['He said "No."', "Then (he left.)", "Done"]),
        ("Mr. Smith and J. R. Hartley came. Dr. No did not.", ["Mr. Smith and J. R. Hartley came.", "Dr. No did not."]),
        ("a line\n\nanother one . and more", ["a line", "another one .", "and more"]),
        ("pork belly = delicious . scallops ? i do n't .", ["pork belly = delicious .", "scallops ?", "i do n't ."]),
        ("ordered pasta entree . \n . $ 16.95 good", ["ordered pasta entree . .", "$ 16.95 good"]),
        ("Wait... what?! Yes", ["Wait...", "what?!", "Yes"]),
        ("...", ["..."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_no_letter_is_lost() -> None:
    text = 'Mr. X? "Yes!" . he said ...\nand e.g. that.No end (here.) 5.5 stars . . . !'
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
