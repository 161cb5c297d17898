"""Tatoeba: pairs with English, a split that hangs on the sentence, and no sentence in two parts."""

import itertools
import os
import zipfile
from pathlib import Path

import pytest

from saccade import recipes
from saccade.data.examples import Example, Splits
from saccade.data.sets import tatoeba
from saccade.data.sets.tatoeba import Config, load, part_of, same
from saccade.errors import DataError, UnknownName, UsageError
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.train import train

STAGED = os.environ.get("SACCADE_DATA")


def lines(language: str, count: int = 400) -> list[str]:
    """Each English sentence twice, with translations of its own."""
    return [f"I see {number} dogs!\t{language}\u202f{number}\u00a0{letter} !" for number in range(count) for letter in "ab"]


def put(directory: Path, language: str, text: str) -> Path:
    name, archive, member = tatoeba.EDITIONS[language]
    path = directory / name / archive
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(member, text)
        file.writestr("_about.txt", "about")
    return path


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A few lines in the place and form of the published ones."""
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    put(tmp_path, "fr", "\n".join(lines("fr")) + "\n")
    put(tmp_path, "de", "\ufeff" + "\tCC-BY 2.0\r\n".join(lines("de", 300)))
    return tmp_path


def parts(splits: Splits) -> list[list[Example]]:
    return [list(splits.train), list(splits.valid), list(splits.test)]


def apart(splits: Splits) -> bool:
    """Whether no sentence of either side is in two parts."""
    sides = [[{same(getattr(pair, side)) for pair in part} for part in parts(splits)] for side in ("input", "target")]
    return not any(one & other for side in sides for one, other in itertools.combinations(side, 2))


@pytest.mark.usefixtures("directory")
def test_lines_become_pairs() -> None:
    found = load(Config())
    assert sum(map(len, parts(found))) == 800
    assert all(parts(found))
    assert len(found.train) > 700
    for number, part in enumerate(parts(found)):
        assert all(part_of(pair.input) == number for pair in part)
        assert all(pair.group == "" for pair in part)
    assert Example("I see 7 dogs!", "fr 7 b !") in [pair for part in parts(found) for pair in part]
    assert load(Config()) == found
    back = load(Config(source="de", target="en"))
    assert sum(map(len, parts(back))) == 600
    assert {pair.target for pair in back.test} <= {pair.input for pair in found.test}


@pytest.mark.usefixtures("directory")
def test_no_sentence_is_in_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tatoeba, "HELD_OUT", 0.2)
    assert apart(load(Config()))
    assert min(map(len, parts(load(Config())))) > 100


def test_what_was_learned_in_the_other_language_is_not_judged(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tatoeba, "HELD_OUT", 0.2)
    put(directory, "fr", "".join(f"I see {number} dogs.\tje vois {number % 50} chiens\n" for number in range(400)))
    whole = load(Config())
    assert apart(whole)
    learned = {pair.target for pair in whole.train}
    assert len(learned) > 40
    assert len(whole.valid) + len(whole.test) < 30  # without this, 160
    put(directory, "fr", "".join(f"I see {number} dogs.\tje vois {number // 2} chiens\n" for number in range(400)))
    assert apart(load(Config()))
    assert len(load(Config()).test) > 20


def test_the_split_hangs_on_letters_alone() -> None:
    english = [f"I see {number} dogs, don't I?" for number in range(4000)]
    counts = [sum(part_of(text) == number for text in english) for number in range(3)]
    assert counts[1:] == pytest.approx([60, 60], abs=25)
    assert all(part_of(text) == part_of(text.upper().replace(",", " ,").replace("?", " ...")) for text in english)
    assert same("?!") != same("...")
    # A run that was trained before an upgrade is judged on the same sentences.
    assert [text for text in english if part_of(text) == 2][:2] == [
        "I see 39 dogs, don't I?",
        "I see 68 dogs, don't I?",
    ]


@pytest.mark.usefixtures("directory")
def test_several_targets_are_groups() -> None:
    found = load(Config(target="fr, de"))
    assert {pair.group for pair in found.train} == {"fr", "de"}
    assert all(pair.target.startswith(pair.group) for part in parts(found) for pair in part)
    alone = load(Config(target="de"))
    assert [pair.target for pair in found.test if pair.group == "de"] == [pair.target for pair in alone.test]
    english = [{pair.input for pair in part} for part in parts(found)]
    assert not english[0] & english[2]


def test_tokenized_text_is_lower_and_apart(directory: Path) -> None:
    put(directory, "fr", "Go on, Tom's here!\tVas-y, c’est «\u202fl'été\u202f»\u202f!\n")
    splits = load(Config(text="tok"))
    (pair,) = (pair for part in parts(splits) for pair in part)
    assert pair == Example("go on , tom's here !", "vas-y , c’est « l'été » !")


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("keys", [{"target": "en"}, {"source": "fr", "target": "de"}, {"target": "fr,fr"}], ids=str)
def test_pairs_without_english_are_refused(keys: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"data\.target: expected") as error:
        load(Config(**keys))  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("target", ["nl", "", "fr,"])
def test_an_unknown_language_is_told(target: str) -> None:
    with pytest.raises(UnknownName, match="unknown language"):
        load(Config(target=target))


def test_what_is_not_there_is_told_with_how_to_come_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="is missing in") as error:
        load(Config())
    assert "run `saccade data get tatoeba-fra-eng`" in str(error.value)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("text", ["a\n", "a\tb\n\tc\n", "a\tb\n\nc\td\n", "a\t\n", ""])
def test_bad_lines_are_told(text: str, directory: Path) -> None:
    path = put(directory, "fr", text)
    with pytest.raises(DataError, match=r"fra\.txt:[12]: expected English TAB translation") as error:
        load(Config())
    assert str(path) in str(error.value)


def test_what_is_no_such_zip_is_told(directory: Path) -> None:
    path = put(directory, "fr", "a\tb\n")
    whole = path.read_bytes()
    for content in (b"", b"text", whole[:60]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"expected a zip with fra\.txt"):
            load(Config())
    path.write_bytes(put(directory, "de", "a\tb\n").read_bytes())
    with pytest.raises(DataError, match=r"expected a zip with fra\.txt"):
        load(Config())


@pytest.mark.long
@pytest.mark.usefixtures("directory")
def test_its_recipe_trains(tmp_path: Path) -> None:
    sizes = "model.hidden_size=8 model.num_heads=2 model.intermediate_size=8 model.encoder_layers=1 model.decoder_layers=1"
    small = "tokens.size=300 train.steps=3 train.batch_tokens=600 train.warmup=1 search.max_length=4"
    settings = resolve(recipes.load("tatoeba-en-fr"), [*sizes.split(), *small.split()])
    run = train(tmp_path / "run", settings, Quiet())
    assert run.checkpoints.steps() == [3]
    assert (tmp_path / "run" / "log.jsonl").read_text().count('"bleu"') >= 1


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize(("language", "count"), [("fr", 142_787), ("de", 169_197)])
def test_the_published_sentences_are_split_without_a_leak(language: str, count: int) -> None:
    try:
        found = load(Config(target=language))
    except DataError as error:
        if "is missing in" not in str(error):
            raise
        pytest.skip(f"tatoeba is not in SACCADE_DATA: {error}")
    sizes = [len(part) for part in parts(found)]
    assert count - 700 < sum(sizes) < count
    assert all(1_500 < size < 3_000 for size in sizes[1:])
    assert apart(found)
