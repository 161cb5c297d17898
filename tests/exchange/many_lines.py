"""Ten thousand lines in more than five scripts, to compare tokenizers by."""

import os
from datetime import date, timedelta

from babel.dates import format_date

from saccade.data.sets import tatoeba

LOCALES = ("ru", "el", "ar", "zh", "ja", "hi", "th", "ko", "he", "en", "fr")  # of more than five scripts


def many_lines() -> list[str]:
    """10,000 lines, of the staged texts where they are."""
    days = [date(1990, 1, 1) + timedelta(days=37 * number) for number in range(500)]
    made = [format_date(day, "full", locale=locale) for day in days for locale in LOCALES]
    if os.environ.get("SACCADE_DATA"):
        pairs = tatoeba.load(tatoeba.Config()).train
        made += [text for example in pairs[-3000:] for text in (example.input, example.target)]
    odd = [
        "  two  spaces ",
        "tab\tand\r\nbreak\n\n\n x",
        "I'LL he's 'tis",
        "🙂👍🏽 e\u0301 \u200d",
        "x" * 300,
        " ",
        "3.14159²",
    ]
    return (made * 2)[: 10_000 - len(odd)] + odd
