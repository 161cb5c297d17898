"""A model that learned to read dates beside dateparser, on dates of years that it never saw.

python benchmarks/dates.py --run runs/dates    all test dates
python benchmarks/dates.py --quick             at most a minute

dateparser is told what a tag tells us: the locale, and with it the order of day, month and year. Where no locale is
given, it searches on its own. Both read the validation dates first, so that what is loaded once is loaded.
"""

import argparse
import functools
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from babel import Locale
from dateparser.data.languages_info import language_locale_dict
from dateparser.date import DateDataParser
from kit import Report, arguments

from saccade.data.examples import Example
from saccade.data.sets.dates import Config, load
from saccade.errors import SaccadeError
from saccade.exchange.opening import load as load_run
from saccade.trained import TrainedModel

PEER = "dateparser"
# Languages that dateparser names by their script.
SCRIPTS = {"sr_RS": "sr-Cyrl", "zh_CN": "zh-Hans", "zh_TW": "zh-Hant"}
QUICK = 1_500

Reader = Callable[[list[str]], list[str]]


def ours(run: Path, texts: list[str]) -> list[str]:
    """The ISO dates that the model of a run writes for these sources."""
    return [found.text for found in _reader(run).predict(texts)]


@functools.cache
def _reader(run: Path) -> TrainedModel:
    try:
        return load_run(run)
    except SaccadeError as error:
        raise SystemExit(f"{error}; train one with: saccade train dates") from None


def theirs(texts: list[str]) -> list[str]:
    """The ISO dates that dateparser finds, or nothing where it finds none."""
    return [_peer_reads(text) for text in texts]


def _peer_reads(source: str) -> str:
    tag, _, text = source.rpartition("> ")
    order = _order(tag[1:], text) if tag else ""
    found = _parser(tag[1:], order).get_date_data(text).date_obj
    return found.date().isoformat() if found else ""


def _order(locale: str, text: str) -> str:
    """The order in which the locale writes numbers, unless the text begins with what can only be a year."""
    return "YMD" if re.match(r"\d{4}", text) else _order_of(locale)


@functools.cache
def _order_of(locale: str) -> str:
    pattern = Locale.parse(locale).datetime_skeletons["yMd"].pattern
    return "".join(sorted("DMY", key=pattern.upper().index))


@functools.cache
def _parser(locale: str, order: str) -> DateDataParser:
    if not locale:
        return DateDataParser()
    region = locale.replace("_", "-")
    settings = {"DATE_ORDER": order}
    if region in language_locale_dict.get(locale[:2], ()):
        return DateDataParser(locales=[region], settings=settings)
    return DateDataParser(languages=[SCRIPTS.get(locale, locale[:2])], settings=settings)


def measure(read: Reader, pairs: Sequence[Example]) -> tuple[float, float]:
    """The share of dates that are read right, and dates a second."""
    sources = [pair.input for pair in pairs]
    start = time.perf_counter()
    found = read(sources)
    seconds = time.perf_counter() - start
    right = sum(date == pair.target for date, pair in zip(found, pairs, strict=True))
    return right / len(pairs), len(pairs) / seconds


def compare(report: Report, groups: dict[str, list[Example]], warm: list[str], run: Path) -> None:
    """Both on the same dates, tagged and untagged; speed is told for each, and is foremost that of tagged dates."""
    theirs(warm)
    peer = {}
    for group, pairs in groups.items():
        peer[group] = accuracy, speed = measure(theirs, pairs)
        print(f"{PEER}, {group}: {accuracy:.2%} of {len(pairs)} right, {speed:.0f} dates/s", flush=True)
    ours(run, warm)
    own = {group: measure(functools.partial(ours, run), pairs) for group, pairs in groups.items()}
    for group, (accuracy, speed) in own.items():
        their_accuracy, their_speed = peer[group]
        text = f"ours {accuracy:.2%}, {PEER} {their_accuracy:.2%}"
        report.value(f"{group} accuracy", PEER, accuracy / their_accuracy, text)
        text = f"ours {1 - accuracy:.2%}, {PEER} {1 - their_accuracy:.2%}"
        report.value(f"{group} errors", PEER, (1 - their_accuracy) / max(1 - accuracy, 1 / len(groups[group])), text)
        case = "dates per second" if group == "tagged" else f"dates per second, {group}"
        report.value(case, PEER, speed / their_speed, f"ours {speed:.0f}, {PEER} {their_speed:.0f}")


def main() -> None:
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--run", type=Path, default=Path("runs/dates"))
    chosen, sys.argv[1:] = own.parse_known_args()
    options = arguments("A model that learned to read dates beside dateparser; --run names its run (default runs/dates).")
    splits = load(Config(train_size=1))
    test = splits.test[:QUICK] if options.quick else splits.test
    groups = {group: [pair for pair in test if pair.group == group] for group in ("tagged", "untagged")}
    report = Report()
    compare(report, groups, [pair.input for pair in splits.valid], chosen.run)
    report.close(options.json)


if __name__ == "__main__":
    main()
