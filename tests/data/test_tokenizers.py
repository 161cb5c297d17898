"""Tokenizers: exact round trips, the same file every time, and no way for data to write a special token."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import tokenizers as library
from hypothesis import example, given
from hypothesis import strategies as st

from saccade.data.tokenizers import (
    END,
    MASK,
    PAD,
    SPECIALS,
    START,
    UNKNOWN,
    Config,
    Kind,
    LearnedTokenizer,
    Vocabulary,
    train,
)
from saccade.errors import DataError, SaccadeError, UsageError

KINDS: tuple[Kind, ...] = get_args(Kind)
TEXTS = [
    "<de_DE> Der 3. März 1998 – ein Dienstag",
    "<en_US> March 3rd, 1998 was a Tuesday!",
    "<el-GR> ΟΔΥΣΣΕΥΣ naïve café 日本語 👩‍👩‍👧 हिन्दी",
    "a line\nand\ta tab\x00 <b>bold</b> </s> <s> <pad> <unk> <not a mark> <1>",
]
unicode = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
telling = st.sampled_from(
    [*SPECIALS, "<de_DE>", "<DE_DE>", "<en_US>", "<b>", "<x>", "<", ">", " ", "Σ", "İ", "é", "e\u0301", "word"]
)
texts = st.one_of(unicode, st.lists(st.one_of(telling, unicode), max_size=6).map("".join))


def trained(kind: Kind, lower: bool = False) -> LearnedTokenizer:
    return train(TEXTS * 3, Config(kind=kind, size=400, lower=lower))


TRAINED = {(kind, lower): trained(kind, lower) for kind in KINDS for lower in (False, True)}
every_kind = pytest.mark.parametrize("tokenizer", TRAINED.values(), ids=[f"{kind}-{lower}" for kind, lower in TRAINED])


def foreign(tokenizer: LearnedTokenizer, path: Path) -> library.Tokenizer:
    tokenizer.save(path)
    return library.Tokenizer.from_file(str(path))


FOREIGN: dict[int, library.Tokenizer] = {}


@pytest.fixture(autouse=True, scope="module")
def _opened_by_the_library(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("library")
    FOREIGN.update({id(tokenizer): foreign(tokenizer, folder / "tokenizer.json") for tokenizer in TRAINED.values()})


@given(texts)
@example("<de_DE><de_DE>x <de_DE")
@example("".join(map(chr, range(300))))
def test_bpe_gives_back_any_text(text: str) -> None:
    tokenizer = TRAINED["bpe", False]
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.text([*"".join(TEXTS[2:]).replace("<el-GR>", "")], max_size=60))
@example("<s></s><bold><a><b><pad>")
def test_char_gives_back_known_characters(text: str) -> None:
    tokenizer = TRAINED["char", False]
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.lists(st.sampled_from([*re.findall(r"\w+", TEXTS[0][7:]), "<de_DE>", ",", "–", "!"])))
def test_word_gives_back_known_words(words: list[str]) -> None:
    tokenizer = TRAINED["word", False]
    assert tokenizer.decode(tokenizer.encode("  ".join(words))) == " ".join(words)


@every_kind
@given(text=texts)
def test_laws_of_every_kind(tokenizer: LearnedTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert all(UNKNOWN <= index < tokenizer.size for index in ids)  # never PAD, START or END
    assert (UNKNOWN not in ids) or tokenizer.kind != "bpe"
    assert tokenizer.encode_batch([text, "x", text]) == [ids, tokenizer.encode("x"), ids]
    assert len(tokenizer.pieces(text)) == len(tokenizer.labels(ids)) == len(ids)
    assert UNKNOWN in ids or tokenizer.encode(tokenizer.decode(ids)) == ids


@every_kind
@given(text=texts)
def test_the_library_opens_the_file_and_gives_the_same_ids(tokenizer: LearnedTokenizer, text: str) -> None:
    assert FOREIGN[id(tokenizer)].encode(text).ids == tokenizer.encode(text)


@every_kind
@pytest.mark.parametrize("special", SPECIALS)
@pytest.mark.parametrize("around", ["{}", "a {} b", "<{}>", "{0}{0}", "<de_DE>{}"])
def test_data_cannot_write_a_special_token(tokenizer: LearnedTokenizer, special: str, around: str) -> None:
    text = around.format(special)
    ids = tokenizer.encode(text)
    assert min(ids) > UNKNOWN  # the parts of all four are in the training texts
    assert len(ids) >= 3
    assert tokenizer.decode(ids).replace(" ", "") == text.replace(" ", "").replace("DE", "de" if tokenizer.lower else "DE")
    assert min(tokenizer.encode(text.upper())) >= UNKNOWN


@pytest.mark.parametrize("kind", KINDS)
def test_special_spellings_that_fill_the_training_texts_are_no_tokens(kind: Kind) -> None:
    tokenizer = train(["".join(SPECIALS), " ".join(SPECIALS)] * 100, Config(kind=kind, size=600))
    assert min(tokenizer.encode("".join(SPECIALS) + " ".join(SPECIALS))) > UNKNOWN


@every_kind
def test_special_ids_are_shown_by_name_and_left_out_of_text(tokenizer: LearnedTokenizer) -> None:
    ids = [START, *tokenizer.encode("3"), END, PAD, PAD]
    assert tokenizer.decode(ids) == "3"
    assert tokenizer.labels(ids) == ["<s>", "3", "</s>", "<pad>", "<pad>"]
    assert tokenizer.decode([UNKNOWN]) == "<unk>"


@pytest.mark.parametrize("kind", KINDS)
def test_learned_marks_are_one_token(kind: Kind) -> None:
    tokenizer = TRAINED[kind, False]
    assert tokenizer.pieces("<de_DE>3<el-GR>") == ["<de_DE>", "3", "<el-GR>"]
    assert len(tokenizer.encode("<it_IT>")) > 1
    assert TRAINED[kind, True].pieces("<DE_de>3") == ["<de_de>", "3"]


def test_characters_are_code_points() -> None:
    assert TRAINED["char", False].pieces("e\u0301\n <de_DE>👩‍👩") == [
        "e",
        "\u0301",
        "\n",
        " ",
        "<de_DE>",
        "👩",
        "\u200d",
        "👩",
    ]
    assert TRAINED["char", False].encode("☃a☃")[::2] == [UNKNOWN, UNKNOWN]


def test_words_and_punctuation_stand_apart() -> None:
    pieces = TRAINED["word", False].pieces("Don't  stop_me,<de_DE>now हिन्दी… ")
    assert pieces == ["Do", "n't", "stop_me", ",", "<de_DE>", "now", "हिन्दी", "…"]
    assert TRAINED["word", False].encode("zebra 1998")[0] == UNKNOWN


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("don't do n't CAN'T couldn’t", ["do", "n't", "do", "n't", "CA", "N'T", "could", "n’t"]),
        (
            "it's it 's we'll they’ve I'm he'd you're",
            ["it", "'s", "it", "'s", "we", "'ll", "they", "’ve", "I", "'m", "he", "'d", "you", "'re"],
        ),
        ("$16.95, 1,000.50. 3.x", ["$", "16.95", ",", "1,000.50", ".", "3", ".", "x"]),
        ("'so' students' o'clock l'homme", ["'", "so", "'", "students", "'", "o", "'", "clock", "l", "'", "homme"]),
    ],
)
def test_words_are_cut_as_treebanks_cut_them(text: str, pieces: list[str]) -> None:
    assert TRAINED["word", False].pieces(text) == pieces


@pytest.mark.parametrize("lower", [False, True])
def test_either_apostrophe_is_the_same_word(lower: bool, tmp_path: Path) -> None:
    found = train(["do n't it's"], Config(kind="word", lower=lower))
    assert UNKNOWN not in found.encode("don’t it’s")
    assert found.encode("don’t it’s") == found.encode("don't it's")
    assert found.tokens() == train(["do n’t it’s"], Config(kind="word", lower=lower)).tokens()
    found.save(tmp_path / "t.json")
    assert LearnedTokenizer.load(tmp_path / "t.json").lower == lower


def test_pieces_of_byte_pairs_are_readable() -> None:
    pieces = train(["a café a café a café"], Config(kind="bpe", size=300)).pieces("a café €")
    assert pieces == ["a", " café", " ", "\\xe2", "\\x82", "\\xac"]


def test_bytes_that_are_no_text_are_replaced() -> None:
    tokenizer = TRAINED["bpe", False]
    ids = train(["x"], Config(kind="bpe", size=260)).encode("€")
    assert train(["x"], Config(kind="bpe", size=260)).decode(ids[:2]) == "\ufffd"
    assert tokenizer.decode(tokenizer.encode("\ufffd")) == "\ufffd"


@pytest.mark.parametrize("kind", ["char", "word"])
def test_the_most_frequent_come_first_then_by_text(kind: Kind) -> None:
    tokenizer = train(["c b b a", "d <m> <m> <m>"], Config(kind=kind, size=8))
    by_count = [" ", "<m>", "b", "a"] if kind == "char" else ["<m>", "b", "a", "c"]
    assert tokenizer.labels(range(4, tokenizer.size)) == by_count


def test_rare_marks_are_spelled() -> None:
    tokenizer = train(["<ab> <ab> <ba>"], Config(min_count=2))
    assert tokenizer.pieces("<ab><ba>") == ["<ab>", "<", "b", "a", ">"]
    assert UNKNOWN not in train(["<ab>abba <"], Config(kind="bpe", size=260)).encode("<ab>")


@pytest.mark.parametrize("kind", KINDS)
def test_size_is_a_bound(kind: Kind) -> None:
    assert train(TEXTS, Config(kind=kind, size=262)).size <= 262
    with pytest.raises(UsageError, match="size of the tokenizer: expected at least"):
        train(TEXTS, Config(kind=kind, size=259 if kind == "bpe" else 4))


@every_kind
def test_a_saved_tokenizer_comes_back(tokenizer: LearnedTokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    again = LearnedTokenizer.load(tmp_path / "tokenizer.json")
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()
    assert (again.kind, again.lower, again.size) == (tokenizer.kind, tokenizer.lower, tokenizer.size)
    for text in TEXTS:
        assert again.encode(text) == tokenizer.encode(text)
        assert again.pieces(text) == tokenizer.pieces(text)
        assert again.decode(again.encode(text)) == tokenizer.decode(tokenizer.encode(text))


PROGRAM = """
import random, sys
from pathlib import Path
from saccade.data.tokenizers import Config, train
letters = random.Random(0)
texts = [" ".join("".join(letters.choices("abcdeé日", k=3)) for _ in range(8)) + f"<m{n % 5}>" for n in range(300)]
for kind in ("char", "word", "bpe"):
    train(texts, Config(kind=kind, size=700)).save(Path(sys.argv[1]) / f"{kind}.json")
"""


def test_the_same_texts_give_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    for folder in folders:
        folder.mkdir()
        subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], check=True)
    for kind in KINDS:
        assert len({(folder / f"{kind}.json").read_bytes() for folder in folders}) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nothing", [[], [""], ["", ""]])
def test_nothing_to_learn_from(kind: Kind, nothing: list[str]) -> None:
    with pytest.raises(DataError, match="nothing to learn a tokenizer from"):
        train(iter(nothing), Config(kind=kind))


def test_nothing_frequent_enough() -> None:
    with pytest.raises(DataError, match="no word occurs 1 times"):
        train(["  \n "], Config(kind="word"))
    with pytest.raises(DataError, match="smaller min_count"):
        train(["abc"], Config(min_count=2))


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_is_refused(kind: Kind) -> None:
    for attempt in (lambda text: TRAINED[kind, False].encode(text), lambda text: train([text], Config(kind=kind))):
        with pytest.raises(DataError, match=r"half a surrogate pair, '\\udc80', at character 3"):
            attempt("ab\udc80")


def test_the_vocabulary_says_the_ids() -> None:
    tokenizer = TRAINED["word", False]
    assert tokenizer.vocabulary == Vocabulary(size=tokenizer.size, pad=PAD, start=START, end=END, unknown=UNKNOWN)
    assert tokenizer.vocabulary.banned == (PAD, START)
    assert Vocabulary(size=9, pad=8, start=8, end=0).banned == (8,)
    assert Vocabulary(size=9, pad=0, start=2, end=3, mask=1).banned == (0, 1, 2)
    assert Vocabulary(size=9, pad=4, start=4, end=4).banned == ()
    for wrong in (-1, 9):
        with pytest.raises(UsageError, match="expected ids from 0 to 8"):
            Vocabulary(size=9, pad=0, start=1, end=2, mask=wrong)


def test_ids_of_nothing_are_refused() -> None:
    tokenizer = TRAINED["char", False]
    for wrong in (-1, tokenizer.size):
        with pytest.raises(SaccadeError, match="expected ids from 0 to"):
            tokenizer.decode([wrong])
        with pytest.raises(SaccadeError, match="expected ids from 0 to"):
            tokenizer.labels([5, wrong])


def changed(tokenizer: LearnedTokenizer, path: Path, change: Any) -> Path:
    tokenizer.save(path)
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    return path


DAMAGES = {
    "no model": lambda table: table.pop("model"),
    "a gap": lambda table: table["model"]["vocab"].update(zzz=9999),
    "two of an id": lambda table: table["model"]["vocab"].update(zzz=5),
    "no special": lambda table: table["model"]["vocab"].pop("</s>"),
    "special declared": lambda table: table["added_tokens"].append(table["added_tokens"][0] | {"id": 2, "content": "</s>"}),
    "mark lost": lambda table: table["added_tokens"].pop(),
    "other splitting": lambda table: table.update(pre_tokenizer={"type": "Whitespace"}),
    "other normalizer": lambda table: table.update(normalizer={"type": "NFKC"}),
    "another model": lambda table: table.update(model={"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0]]}),
    "truncation": lambda table: table.update(
        truncation={"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_and_foreign_files_are_refused(kind: Kind, damage: str, tmp_path: Path) -> None:
    path = changed(TRAINED[kind, False], tmp_path / "tokenizer.json", DAMAGES[damage])
    with pytest.raises(DataError, match="not a tokenizer of saccade") as error:
        LearnedTokenizer.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_cut_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    TRAINED["bpe", False].save(path)
    content = path.read_bytes()
    for end in (0, 1, 100, len(content) // 2, len(content) - 3):
        path.write_bytes(content[:end])
        with pytest.raises(DataError, match="not a tokenizer of saccade"):
            LearnedTokenizer.load(path)
    path.write_bytes(b"\xff\xfe\x00" + content)
    with pytest.raises(DataError, match="not a tokenizer of saccade"):
        LearnedTokenizer.load(path)
    with pytest.raises(DataError, match="no such file"):
        LearnedTokenizer.load(tmp_path / "none.json")


def test_characters_are_encoded_without_the_library_which_is_slower() -> None:
    many = [f"<de> {n:020d} é" for n in range(200)]
    tokenizer = train(many[:100], Config())
    expected = [tokenizer._backend.encode(text).ids for text in many]
    tokenizer._backend = None  # type: ignore[assignment]
    assert tokenizer.encode_batch(many) == expected


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_a_mask_stands_behind_the_special_tokens_and_no_text_becomes_one(kind: Kind, tmp_path: Path) -> None:
    """Files without one are as they were; a text that names it is cut like any other."""
    texts = ["red [MASK] fox", "<mask> [MASK] [MASK] fox"]
    config = Config(kind=kind, size=300)
    plain, made = train(texts, config), train(texts, config, masked=True)
    assert plain.vocabulary.mask is None
    assert (made.vocabulary.mask, made.tokens()[MASK]) == (MASK, "[MASK]")
    assert MASK in made.vocabulary.banned
    for text in texts:
        assert MASK not in made.encode(text)
        assert made.decode(made.encode(text)).replace(" ", "") == text.replace(" ", "")
    made.save(tmp_path / "tokenizer.json")
    again = LearnedTokenizer.load(tmp_path / "tokenizer.json")
    assert again.vocabulary == made.vocabulary
    assert again.encode(texts[1]) == made.encode(texts[1])
    assert made.labels([MASK]) == ["[MASK]"]


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_offsets_say_where_each_piece_stands(kind: Kind) -> None:
    text = "Red <de_DE> foxes, don't run 16.95 é"
    made = train([text], Config(kind=kind, size=300))
    places = made.offsets(text)
    assert len(places) == len(made.encode(text))
    for (first, last), piece in zip(places, made.pieces(text), strict=True):
        if "\\x" not in piece:  # half a letter
            assert text[first:last] == piece
