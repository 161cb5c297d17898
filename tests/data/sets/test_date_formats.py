"""Dates as locales write them: CLDR's own texts, by babel itself."""

import datetime

import pytest
from babel import Locale
from babel.dates import format_date

from saccade.data.sets.date_formats import ZEROS, Format, formats, native
from saccade.data.sets.dates import LOCALES, normalize

# Every month, weekday, leap day, century, and number of digits.
DAYS = [datetime.date(1900, 1, 1) + datetime.timedelta(97 * number) for number in range(750)]
DAYS += [datetime.date(2000, 2, 29), datetime.date(1969, 12, 31), datetime.date(2068, 1, 9), datetime.date(2099, 12, 31)]


def _through_babel(form: Format, day: datetime.date) -> str:
    """The text by babel itself, with the digits of the locale."""
    text = normalize(format_date(day, form.pattern, Locale.parse(form.locale)))
    zero = ZEROS[Locale.parse(form.locale).default_numbering_system]
    return "".join(native(letter, zero) if letter in "0123456789" else letter for letter in text)


@pytest.mark.parametrize("locale", LOCALES)
def test_texts_are_those_of_babel(locale: str) -> None:
    for turn, form in enumerate(formats(locale)):
        for day in DAYS[turn::7]:
            assert form.write(day) == _through_babel(form, day)


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("en_US", "Tuesday, April 3, 2018"),
        ("en_US", "4/3/18"),
        ("en_GB", "03/04/2018"),
        ("de_DE", "Dienstag, 3. April 2018"),
        ("pl_PL", "3 kwietnia 2018"),
        ("ru_RU", "3 апреля 2018 г."),
        ("ar_EG", "٣/٤/٢٠١٨"),
        ("fa_IR", "۳ آوریل ۲۰۱۸"),
        ("bn_BD", "৩ এপ্রিল, ২০১৮"),
        ("th_TH", "3 เมษายน ค.ศ. 2018"),
        ("ja_JP", "2018年4月3日火曜日"),
        ("ko_KR", "18. 4. 3."),
        ("hu_HU", "2018. április 3."),
        ("vi_VN", "Thứ Ba, 3 tháng 4, 2018"),
    ],
)
def test_a_locale_writes_dates_as_its_people_do(locale: str, text: str) -> None:
    assert text in [form.write(datetime.date(2018, 4, 3)) for form in formats(locale)]


def test_there_are_many_locales_and_numbering_systems() -> None:
    assert len(LOCALES) == len(set(LOCALES)) >= 40
    assert {form.zero for locale in LOCALES for form in formats(locale)} == set(ZEROS.values())


def test_what_nobody_types_is_normalized() -> None:
    assert normalize(" 3\u202fапреля\u00a02018\u202fг.\n") == "3 апреля 2018 г."
    assert normalize("3\u200f/4\u200e/2018") == "3/4/2018"
    assert normalize("u\u0308") == "ü"
