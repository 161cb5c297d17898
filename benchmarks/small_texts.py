"""Small sets of texts, documents and words, from the data sets that are here.

What `test` has, neither training nor the choice of the checkpoint sees: validation data is held out of `train` by the run.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from small_files import SEED, SmallSet, documents, drawn, texts

from saccade.data import known
from saccade.data.examples import Example
from saccade.data.sets import caption_words, dates, imdb, multi30k, tatoeba

WORDS = re.compile(r"[a-z]+(?:-[a-z]+)*")
QUESTION = re.compile(r"(\d+) ([^\t]*)(?:\t([^\t]*)\t)?")


def _lines(name: str) -> list[str]:
    """The lines of a staged file that no data set of the house reads."""
    return known.unzipped(known.data_directory() / f"{name}.gz").decode().splitlines()


# Texts to texts


def tatoeba_fr_en(folder: Path) -> SmallSet:
    """5,000 French sentences and their translations; the test has no sentence of the training data in either language."""
    splits = tatoeba.load(tatoeba.Config(source="fr", target="en"))
    return texts(folder, drawn(splits.train, 5000), drawn(splits.test, 1000))


def multi30k_de_en(folder: Path) -> SmallSet:
    """5,000 image descriptions, and the test of 2016."""
    splits = multi30k.load(multi30k.Config())
    return texts(folder, drawn(splits.train, 5000), splits.test)


def dates_iso(folder: Path) -> SmallSet:
    """3,000 dates in many locales; other dates of the same years are tested, and no text of the training data."""
    found = dates.load(dates.Config(train_size=4200, valid_size=1, test_size=1)).train
    seen = {one.input for one in found[:3000]}
    return texts(folder, found[:3000], [one for one in found[3000:] if one.input not in seen][:1000])


def scan_simple(folder: Path) -> SmallSet:
    """4,000 commands of the simple split, and 1,000 of its test."""
    train, test = (_commands(f"scan/simple_split/tasks_{part}_simple.txt") for part in ("train", "test"))
    return texts(folder, drawn(train, 4000), drawn(test, 1000))


def _commands(name: str) -> list[Example]:
    return [Example(*line.removeprefix("IN: ").split(" OUT: ")) for line in _lines(name)]


# Documents


def imdb_reviews(folder: Path) -> SmallSet:
    """4,000 movie reviews, negative or positive, and 2,000 of the test."""
    splits = imdb.load(imdb.Config())
    return documents(folder, splits.train[:4000], splits.test[:2000])


def babi_places(folder: Path) -> SmallSet:
    """Stories and a question where somebody is, the answer as label (task 1); whole stories are tested."""
    train, test = (list(_stories(f"babi/en-10k/qa1_single-supporting-fact_{part}.txt")) for part in ("train", "test"))
    return documents(folder, drawn(train, 3000), test)


def babi_people(folder: Path) -> SmallSet:
    """The same stories, and the person who is asked for as the aspect: `story | Mary`."""
    train, test = (list(_stories(f"babi/en-10k/qa1_single-supporting-fact_{part}.txt")) for part in ("train", "test"))
    return texts(folder, *(map(_about, part) for part in (drawn(train, 3000), test)))


def _about(story: Example) -> Example:
    *told, question = story.input.splitlines()
    return Example(f"{' '.join(told)} | {question.removeprefix('Where is ').rstrip('?')}", story.target)


def _stories(name: str) -> Iterator[Example]:
    told: list[str] = []
    for line in _lines(name):
        found = QUESTION.match(line)
        assert found is not None
        number, text, answer = found.groups()
        told = [] if number == "1" else told
        if answer:
            yield Example("\n".join([*told, text.strip()]), answer)
        else:
            told.append(text.strip())


def sail_maps(folder: Path) -> SmallSet:
    """Directions of several sentences: in which of three buildings? A quarter is tested, by person and route."""
    found = [
        Example("\n".join(lines[2::2]), label)
        for label in ("grid", "jelly", "l")
        for record in known_text(f"sail/test.chen/{label}.settrc").strip().split("\n\n")
        if len(lines := record.strip().splitlines()) > 5
    ]
    mixed = drawn(found, len(found))
    return documents(folder, mixed[: 3 * len(mixed) // 4], mixed[3 * len(mixed) // 4 :])


def known_text(name: str) -> str:
    """A staged file that is not packed."""
    return (known.data_directory() / name).read_text("utf-8")


# Sets


def digit_sums(folder: Path) -> SmallSet:
    """2,000 sets of up to ten digits, to their sum."""
    dice = np.random.default_rng(SEED)
    sets = [dice.integers(0, 10, dice.integers(1, 11)) for _ in range(3000)]
    found = [Example(" ".join(map(str, own.tolist())), f"{own.sum()}") for own in sets]
    return texts(folder, found[:2000], found[2000:])


def imdb_stars(folder: Path) -> SmallSet:
    """The different words of 4,000 movie reviews, to their stars, 1 to 10; 2,000 of the test."""
    splits = imdb.load(imdb.Config(label="stars"))
    parts = ([Example(_words(one.input), one.target) for one in part] for part in (splits.train[:4000], splits.test[:2000]))
    return texts(folder, *parts)


def _words(text: str) -> str:
    return " ".join(dict.fromkeys(WORDS.findall(text.lower())))


def _one_out(sets: Sequence[Sequence[str]]) -> list[Example]:
    """Sets without one of their words, which belongs to them.

    One word of each set: were each in turn, validation would know the sets of the training data.
    """
    dice = np.random.default_rng(SEED)
    places = [int(dice.integers(len(own))) for own in sets]
    return [Example(" ".join((*own[:at], *own[at + 1 :])), own[at]) for own, at in zip(sets, places, strict=True)]


def caption_sets(folder: Path) -> SmallSet:
    """Content words of 5,000 image descriptions, and of those of the test of 2016."""
    paths = [known.find("multi30k", f"tok/{part}.lc.norm.tok.en") for part in ("train", "test_2016_flickr")]
    parts = [[caption_words.content_words(line) for line in known.unzipped(path).decode().splitlines()] for path in paths]
    train, test = ([own for own in part if len(own) >= 3] for part in parts)
    return texts(folder, _one_out(drawn(train, 5000)), _one_out(test))


def sentence_sets(folder: Path) -> SmallSet:
    """Content words of 5,000 English sentences of Tatoeba, and of 1,000 others."""
    found = tatoeba.load(tatoeba.Config(source="en", target="fr")).train
    sets = dict.fromkeys(tuple(caption_words.content_words(one.input)) for one in found)
    mixed = drawn([own for own in sets if len(own) >= 4], 6000)
    return texts(folder, _one_out(mixed[:5000]), _one_out(mixed[5000:]))


def emoji_keywords(folder: Path) -> SmallSet:
    """Keywords of some 1,500 emoji and signs in CLDR, as volunteers have gathered them; 400 others are tested."""
    table = json.loads(known.unzipped(known.find("emoji", "cldr_annotations_en.json")))
    entries = table["annotations"]["annotations"].values()
    sets = [
        list(dict.fromkeys(WORDS.findall(" ".join(entry["default"]).lower()))) for entry in entries if "default" in entry
    ]
    mixed = drawn([own for own in sets if len(own) >= 3], len(sets))
    return texts(folder, _one_out(mixed[400:]), _one_out(mixed[:400]))
