"""Made texts for the tests: files that lie where those of IMDB and of SemEval-14 would."""

import gzip
import io
import tarfile
from pathlib import Path

from saccade.data.sets.babi import TASKS


def imdb(directory: Path) -> None:
    """Eighty reviews for each part of IMDB, in its archive, with the README that lies beside them."""
    (directory / "imdb").mkdir(parents=True, exist_ok=True)
    with tarfile.open(directory / "imdb" / "aclImdb_labelled.tar.xz", "w:xz") as archive:
        files = {"aclImdb/README": "no review"}
        for part in ("train", "test"):
            for n in range(80):
                polarity, stars = (("neg", 1), ("neg", 4), ("pos", 7), ("pos", 10))[n % 4]
                word = "good" if polarity == "pos" else "bad"
                name = f"aclImdb/{part}/{polarity}/{n}_{stars}.txt"
                number = n if part == "test" else n + 100
                files[name] = f"A {word} film, number {number}, of café.<br /><br />Not “seen” again!"
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


def ptb(directory: Path) -> None:
    """Twenty-five sentences for each part of the Penn Treebank."""
    (directory / "ptb").mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid", "test"):
        lines = "".join(f" {part} company {n} did n't sell <unk> \n" for n in range(25))
        (directory / "ptb" / f"ptb.{part}.txt").write_text(lines)


def semeval14(directory: Path) -> None:
    """Forty sentences with two terms each for both parts and corpora of SemEval-14."""
    folder = directory / "semeval14"
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for n in range(40):
        words = [("good", "1"), ("bad", "-1"), ("there", "0")]
        (one, first), (two, second) = words[n % 3], words[(n + 1) % 3]
        lines += [f"the $T$ was {one} but the service was {two} {n} .", "fried rice", first]
        lines += [f"the fried rice was {one} but the $T$ was {two} {n} .", "service", second]
    content = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    for corpus in ("Restaurants", "Laptops"):
        for part in ("Train", "Test_Gold"):
            (folder / f"{corpus}_{part}.xml.seg.gz").write_bytes(content)


def babi(directory: Path) -> None:
    """Ten stories of two questions for each part of every task of bAbI; each tells the folder that it is from."""
    for folder, parts in (("en", ("train", "test")), ("en-10k", ("train", "test")), ("en-valid-10k", ("valid",))):
        (directory / "babi" / folder).mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(TASKS, 1):
            for part in parts:
                lines = []
                for story, who in enumerate("abcdefghij"):
                    answer = "only in the test" if part == "test" and story == 0 else "xyz"[story % 3]
                    lines += [f"1 {who} is in {folder}.", f"2 where is {who}?\t{answer}\t1"]
                    lines += [f"3 {who} goes.", f"4 where is {who}? \t{'xyz'[number % 3]}\t1 3"]
                file = "qa3_valid.txt" if part == "valid" else f"qa{number}_{name}_{part}.txt"
                (directory / "babi" / folder / f"{file}.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
