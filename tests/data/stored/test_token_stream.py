"""The tokens of stored running text are those of the whole texts, whatever reads them, and are made once."""

from pathlib import Path
from typing import Any

import pytest
from tokenizers import decoders, models, pre_tokenizers

from saccade.data import tokenizers
from saccade.data.imported import ImportedTokenizer
from saccade.data.stored import store_files
from saccade.data.stored.running_texts import RunningTexts
from saccade.data.stored.store_files import TARGET, LongText
from saccade.data.stored.stored_examples import Store, StoredExamples
from saccade.data.stored.text_parts import TextParts
from saccade.data.stored.token_stream import token_stream
from saccade.data.tokenizers import Backend, Config, Tokenizer, Vocabulary

from .stores import everything_is_large

TEXTS = [
    "<de> Ein Satz, der lang\nist.\n\nDon't it's 16.95\n'tis <de>\n<en> oh\n  weit\n\tAΣ\nSO ’s\nab\r\ncd\u2003\ne" * 3,
    "kurz",
    "\n\n",
    "ΑΣ\nΣΑ\nwort\nwort\nwort\nwort 3\n.5\nend\n",
]


def running(folder: Path) -> RunningTexts:
    folder.mkdir()
    texts = (LongText((text.encode(),), ("a",)) for text in TEXTS)
    store_files.write(folder, texts, [], [], TARGET)
    return RunningTexts(StoredExamples(Store(folder)))


def imported(*, prefix: bool = False) -> ImportedTokenizer:
    """Byte pairs as GPT-2 has them."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*letters, "<|endoftext|>", "Ċ" + "w", "wo", "ĊĊ"]
    merges = [("Ċ", "w"), ("w", "o"), ("Ċ", "Ċ")]
    backend = Backend(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    end = len(letters)
    return ImportedTokenizer(backend, tokens, Vocabulary(size=len(tokens), pad=end, start=end, end=end))


def whole(tokenizer: Tokenizer) -> list[int]:
    return [token for text in TEXTS for token in [*tokenizer.encode(text), tokenizer.vocabulary.end]]


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("lower", [False, True])
def test_learned_from_pieces_and_read_in_pieces(
    kind: Any, lower: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    texts, config = running(tmp_path / "store"), Config(kind=kind, size=300, lower=lower)
    assert len(list(texts.pieces)) > 2 * len(TEXTS)
    tokenizer = tokenizers.train(TextParts(texts.inputs, texts.pieces), config)
    assert tokenizer.text() == tokenizers.train(TEXTS, config).text()
    assert token_stream(texts, tokenizer).tolist() == whole(tokenizer)
    monkeypatch.setattr(tokenizers.LearnedTokenizer, "encode_batch", lambda *given: pytest.fail("encoded again"))
    assert token_stream(texts, tokenizer).tolist() == whole(tokenizer)


def test_imported_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    texts = running(tmp_path / "store")
    plain, prefixed = imported(), imported(prefix=True)
    assert (plain.cuttable, prefixed.cuttable) == (True, False)  # a space before each piece would be told in its ids
    for tokenizer in (plain, prefixed):
        assert token_stream(texts, tokenizer).tolist() == whole(tokenizer)
