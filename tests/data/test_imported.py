"""Imported tokenizers keep the ids of their family, whatever its order."""

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from saccade.data.imported import ImportedTokenizer, load
from saccade.data.tokenizers import Backend, Config, LearnedTokenizer, Tokenizer, Vocabulary, letters_of_bytes, train
from saccade.errors import DataError, SaccadeError

END_OF_TEXT = "<|endoftext|>"


def marian() -> ImportedTokenizer:
    """The end is 0, the unknown token 1, and padding, from which writing starts, comes last."""
    tokens = ["</s>", "<unk>", "▁a", "▁be", "c", ">>fra<<", "<pad>"]
    pieces = [("<unk>", 0.0), ("▁a", -1.0), ("▁be", -1.0), ("c", -2.0), ("▁", -3.0), ("x", -3.0)]
    backend = Backend(models.Unigram(pieces, unk_id=0))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return ImportedTokenizer(backend, tokens, Vocabulary(size=7, pad=6, start=6, end=0, unknown=1), language_codes=True)


def gpt2() -> ImportedTokenizer:
    """Byte pairs; one token at the end of the vocabulary is start, end and padding, and none is unknown."""
    tokens = [*sorted(letters_of_bytes()), "Ġa", "Ġab", END_OF_TEXT]
    backend = Backend(models.BPE({token: index for index, token in enumerate(tokens)}, [("Ġ", "a"), ("Ġa", "b")]))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(END_OF_TEXT, special=True)])
    end = tokens.index(END_OF_TEXT)
    return ImportedTokenizer(backend, tokens, Vocabulary(size=len(tokens), pad=end, start=end, end=end))


def bert() -> ImportedTokenizer:
    """Word pieces; a text may say [MASK], but not [CLS] or [SEP]."""
    tokens = ["[PAD]", "a", "##b", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "c"]
    backend = Backend(models.WordPiece({token: index for index, token in enumerate(tokens)}, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens([AddedToken(token, special=True) for token in tokens if token.startswith("[")])
    return ImportedTokenizer(backend, tokens, Vocabulary(size=8, pad=0, start=4, end=5, unknown=3, mask=6))


FAMILIES = {"marian": marian, "gpt2": gpt2, "bert": bert}


@pytest.mark.parametrize(
    ("family", "text", "ids", "pieces", "decoded"),
    [
        ("marian", "a bec", [2, 3, 4], ["▁a", "▁be", "c"], "a bec"),
        ("marian", ">>fra<<a", [5, 2], [">>fra<<", "▁a"], None),
        ("marian", ">>deu<<a", [1, 2], [">>deu<<", "▁a"], None),
        ("bert", "AB c", [1, 2, 7], ["a", "##b", "c"], "ab c"),
        ("bert", "a [MASK] x", [1, 6, 3], ["a", "[MASK]", "[UNK]"], "a [MASK] [UNK]"),
        ("bert", "[SEP][CLS]a", [3, 3, 1], ["[SEP]", "[CLS]", "a"], "[UNK] [UNK] a"),
    ],
)
def test_a_family_keeps_its_ids(family: str, text: str, ids: list[int], pieces: list[str], decoded: str | None) -> None:
    tokenizer = FAMILIES[family]()
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode_batch([text, "", "a", text]) == [ids, [], tokenizer.encode("a"), ids]
    assert tokenizer.encode_batch([]) == []
    assert tokenizer.pieces(text) == pieces
    special = tokenizer.vocabulary
    if decoded is not None:
        assert tokenizer.decode([special.start, *ids, special.end, special.pad]) == decoded


@pytest.mark.parametrize("text", ["", "a ab", " ab\n", "é€ ab", f"a{END_OF_TEXT}b", ">>fra<< a"])
def test_byte_pairs_come_back_exactly(text: str) -> None:
    tokenizer = gpt2()
    ids = tokenizer.encode(text)
    assert tokenizer.vocabulary.end not in ids
    assert tokenizer.decode([tokenizer.vocabulary.start, *ids, tokenizer.vocabulary.end]) == text
    assert tokenizer.pieces(text) == tokenizer.labels(ids)


def test_byte_pairs_are_shown_as_text() -> None:
    tokenizer = gpt2()
    assert tokenizer.pieces("a ab€") == ["a", " ab", r"\xe2", r"\x82", r"\xac"]
    assert tokenizer.labels([tokenizer.vocabulary.end]) == [END_OF_TEXT]
    assert tokenizer.decode(tokenizer.encode("€")[:2]) == "�"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_tokenizer_comes_back(family: str, tmp_path: Path) -> None:
    tokenizer: Tokenizer = FAMILIES[family]()
    tokenizer.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert isinstance(again, ImportedTokenizer)
    assert (again.vocabulary, again.size, again.marks) == (tokenizer.vocabulary, tokenizer.size, ())
    assert again.tokens() == tokenizer.tokens()
    for text in ("a ab", ">>fra<<a", f"{END_OF_TEXT} a"):
        assert again.encode(text) == tokenizer.encode(text)
        assert again.decode(again.encode(text)) == tokenizer.decode(tokenizer.encode(text))


def test_a_learned_tokenizer_is_loaded_as_such(tmp_path: Path) -> None:
    train(["abc"], Config()).save(tmp_path / "tokenizer.json")
    assert isinstance(load(tmp_path / "tokenizer.json"), LearnedTokenizer)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    tokenizer = marian()
    for tokens in (tokenizer.tokens()[1:], [*tokenizer.tokens()[1:], "c"]):
        with pytest.raises(ValueError, match="expected 7 tokens, one for each id, got 6 different ones"):
            ImportedTokenizer(tokenizer.backend, tokens, tokenizer.vocabulary)
    with pytest.raises(SaccadeError, match="expected ids from 0 to 6"):
        tokenizer.decode([7])
    with pytest.raises(DataError, match="no unknown token, got '▁be'"):
        ImportedTokenizer(tokenizer.backend, ["▁a", "</s>"], Vocabulary(size=2, pad=1, start=1, end=1)).encode("a be")
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    table = json.loads(path.read_text())
    for key in ("pieces", "tokens"):
        path.write_text(json.dumps({**table, key: None}))
        with pytest.raises(DataError, match=r"tokenizer.json: not an imported tokenizer \(.*\); fix: "):
            load(path)


def test_offsets_say_where_each_piece_stands_behind_a_language() -> None:
    made = marian()
    text = ">>fra<< a be"
    places = made.offsets(text)
    assert len(places) == len(made.encode(text))
    assert [text[first:last].strip() for first, last in places] == [">>fra<<", "a", "be"]
