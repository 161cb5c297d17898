"""Texts cut into sentences."""

import re

# A sentence ends with its marks and the quotes and brackets that close behind them, before a space; or with its line.
END = re.compile(r"""(?:[.!?…]+|(?<=\s)[.!?…])["'”’»)\]]*(?=\s)|\s*[\r\n]+""")
# After these a dot is no end, nor after a single letter: J. R. Hartley.
SHORT = re.compile(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|sr|jr|etc|no|e\.g|i\.e|[A-Za-z])\.$", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the space around them; what has no letter or digit belongs to the one before."""
    parts, start = [], 0
    for match in END.finditer(text):
        if "\n" not in match[0] and "\r" not in match[0] and SHORT.search(text[max(start, match.end() - 8) : match.end()]):
            continue
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    joined: list[str] = []
    for sentence in filter(None, parts):
        if joined and not any(letter.isalnum() for letter in sentence):
            joined[-1] = f"{joined[-1]} {sentence}"
        else:
            joined.append(sentence)
    return joined
