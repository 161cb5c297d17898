"""Small settings of one run for every kind of reader and writer, with chance wherever the system has some."""

from collections.abc import Callable
from pathlib import Path

from saccade.training.settings import Settings, resolve
from tests.made import photos, word_crops
from tests.made_questions import asked

WORDS = [
    f"train.{word}"
    for word in ("steps=9", "valid_every=4", "save_every=3", "threads=1", "log_every=1", "learning_rate=0.05")
]


def _texts(folder: Path, system: str, *words: str) -> Settings:
    (folder / "my.tsv").write_text("".join(f"film {n} is {'good' if n % 3 else 'bad'}\t{n % 3}\n" for n in range(60)))
    common = [f"data.train={folder / 'my.tsv'}", "tokens.kind=word", "train.batch_tokens=60", "model.dropout=0.3"]
    return resolve({"system": system}, [*common, *words, *WORDS])


def sentences(folder: Path) -> Settings:
    """Texts that are read by a GRU."""
    return _texts(folder, "document_attention", "model.encoder=gru", "model.hidden_size=6")


def skip_gram(folder: Path) -> Settings:
    """Word vectors that are trained before the first step."""
    words = ["model.encoder=gru", "model.hidden_size=6", "model.embedding_size=8", "reader.vectors=skip_gram"]
    return _texts(folder, "document_attention", *words)


def bag_of_words(folder: Path) -> Settings:
    """Words of which some are dropped by chance."""
    return _texts(folder, "bag_of_words", "model.word_dropout=0.2")


def _aspects(folder: Path, system: str, *words: str) -> Settings:
    settings = _texts(folder, system, *words)
    lines = [f"film {n} is {'good' if n % 3 else 'bad'} . Really | film\t{n % 3}\n" for n in range(60)]
    (folder / "my.tsv").write_text("".join(lines))
    return settings


def documents(folder: Path) -> Settings:
    """Sentences of two words."""
    return _aspects(folder, "han", "model.hidden_size=6", "reader.max_sentence_length=2")


def aspects(folder: Path) -> Settings:
    """Texts with an aspect."""
    return _aspects(folder, "atae_lstm", "model.hidden_size=6", "model.word_dropout=0.2")


def graph(folder: Path) -> Settings:
    """Nodes of a graph."""
    rows = "".join(f"{n},{n % 2},{'valid' if n > 7 else 'train'},{n % 2},{n * 0.1:.1f}\n" for n in range(10))
    (folder / "nodes.csv").write_text("id,label,split,a,b\n" + rows)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"{n},{(n * 3 + 1) % 10}\n" for n in range(10)))
    words = [f"data.nodes={folder / 'nodes.csv'}", f"data.edges={folder / 'edges.csv'}"]
    return resolve({"system": "gat"}, [*words, "model.hidden_size=3", "model.num_heads=2", *WORDS])


def bags(folder: Path) -> Settings:
    """Bags of instances with two features."""
    rows = "".join(f"{n // 3},{n // 3 % 2},{n % 7},{n * 0.1:.1f}\n" for n in range(60))
    (folder / "bags.csv").write_text("bag,label,a,b\n" + rows)
    words = [f"data.train={folder / 'bags.csv'}", "model.hidden_sizes=[6]", "model.attention_size=4"]
    return resolve({"system": "attention_mil"}, [*words, "train.batch_tokens=12", *WORDS])


def pictures(folder: Path) -> Settings:
    """Pictures that are mirrored and shifted by chance, and running means that every batch moves."""
    photos(folder / "photos")
    words = [f"data.train={folder / 'photos'}", "data.size=10", "model.channels=4", "model.stride=1", "train.batch_tokens=5"]
    return resolve({"system": "se_resnet"}, [*words, "train.optimizer=sgd", *WORDS])


def _digits(*words: str) -> Settings:
    sizes = ["data.train_size=60", "data.valid_size=9", "data.test_size=2"]
    common = ["data.name=digit_sums", "tokens.kind=word", "train.batch_tokens=60", *sizes]
    return resolve({"system": "deep_sets"}, [*common, *words, *WORDS])


def numbers(folder: Path) -> Settings:
    """Sums of digits."""
    return _digits("model.hidden_sizes=[5,4]")


def in_order(folder: Path) -> Settings:
    """Sums of digits that are read one after the other."""
    return _digits("model.pool=lstm", "model.hidden_sizes=[5]")


def expansion(folder: Path) -> Settings:
    """Words that belong to a set; others are drawn by chance."""
    (folder / "my.tsv").write_text("".join(f"a{n % 3} b{n % 5}\tc{n % 4}\n" for n in range(60)))
    words = [f"data.train={folder / 'my.tsv'}", "tokens.kind=word", "model.embedding_size=4", "model.dropout=0.3"]
    return resolve({"system": "set_expansion"}, [*words, "model.negatives=5", "train.batch_tokens=20", *WORDS])


def outlier(folder: Path) -> Settings:
    """Sets in which one item is marked."""
    rows = "".join(f"{n // 4},odd,{int(n % 4 == n // 4 % 4)},{n % 7},{n * 0.1:.1f}\n" for n in range(80))
    (folder / "bags.csv").write_text("bag,label,mark,a,b\n" + rows)
    words = [f"data.train={folder / 'bags.csv'}", "model.hidden_size=4", "model.dropout=0.3", "train.batch_tokens=20"]
    return resolve({"system": "set_outlier"}, [*words, *WORDS])


def cloud(folder: Path) -> Settings:
    """Clouds of points."""
    words = ["data.name=point_clouds", "data.points=6", "data.train_size=40", "data.valid_size=10", "data.test_size=10"]
    return resolve({"system": "point_cloud"}, [*words, "model.hidden_size=4", "train.batch_tokens=60", *WORDS])


def glimpses(folder: Path) -> Settings:
    """Pictures of which a path that is drawn by chance is seen."""
    photos(folder / "photos")
    sizes = [f"model.{word}" for word in ("num_glimpses=2", "glimpse_size=4", "glimpse_hidden_size=5", "hidden_size=6")]
    return resolve(
        {"system": "ram"}, [f"data.train={folder / 'photos'}", "data.size=10", "train.batch_size=5", *sizes, *WORDS]
    )


def captions(folder: Path) -> Settings:
    """Pictures that are described by a word, shifted by chance."""
    photos(folder / "photos")
    sizes = [f"model.{word}" for word in ("channels=4", "num_stages=2", "embedding_size=5", "hidden_size=6")]
    return resolve(
        {"system": "show_attend_tell"},
        [f"data.train={folder / 'photos'}", "data.size=10", "train.batch_size=5", "search.max_length=8", *sizes, *WORDS],
    )


def questions(folder: Path) -> Settings:
    """Pictures that are shared by several questions, of which some words are dropped by chance."""
    words = [f"data.train={asked(folder)}", "data.size=10", "train.batch_size=5", "model.word_dropout=0.2"]
    sizes = [f"model.{word}" for word in ("channels=4", "num_stages=2", "embedding_size=5", "hidden_size=6", "dropout=0.2")]
    return resolve({"system": "stacked_attention"}, [*words, *sizes, *WORDS])


def words_in_pictures(folder: Path) -> Settings:
    """Pictures of words, shifted by chance."""
    sizes = [f"model.{word}" for word in ("channels=4", "num_stages=2", "embedding_size=5", "hidden_size=6")]
    shape = ["reader.height=10", "reader.width=20"]
    return resolve(
        {"system": "show_attend_read"},
        [f"data.train={word_crops(folder / 'crops')}", *shape, "train.batch_size=5", *sizes, *WORDS],
    )


def windows(folder: Path) -> Settings:
    """Running text, in windows at random places."""
    (folder / "my.txt").write_text("".join(f"it is {n % 7} o'clock and all is well\n" for n in range(60)))
    sizes = ["model.hidden_size=8", "model.num_layers=1", "model.num_heads=2", "model.dropout=0.2"]
    words = [
        "tokens.kind=char",
        "writer.context_length=16",
        "writer.slide=true",
        "train.batch_size=4",
        "search.max_length=8",
    ]
    return resolve({"system": "gpt2"}, [f"data.train={folder / 'my.txt'}", *words, *sizes, *WORDS])


def _pieces(folder: Path, system: str, task: str, name: str, text: str) -> Settings:
    (folder / name).write_text(text)
    sizes = ["model.hidden_size=8", "model.intermediate_size=16", "model.num_layers=1", "model.num_heads=2"]
    words = [f"data.train={folder / name}", "tokens.kind=word", "train.batch_size=4", "model.dropout=0.3"]
    return resolve({"system": system, "task": task}, [*words, *sizes, *WORDS])


def hidden(folder: Path) -> Settings:
    """Running text of which some words are hidden."""
    text = "".join(f"It is {n % 7} o'clock . And all is well , film {n % 5} !\n\n" for n in range(60))
    return _pieces(folder, "bert", "masked", "my.txt", text)


def permuted(folder: Path) -> Settings:
    """Running text whose words are predicted in a random order."""
    text = "".join(f"It is {n % 7} o'clock . And all is well , film {n % 5} !\n\n" for n in range(60))
    return _pieces(folder, "xlnet", "permuted", "my.txt", text)


def tags(folder: Path) -> Settings:
    """A label for each word."""
    rows = "".join(f"film {n} is {'good' if n % 3 else 'bad'}\tx y x {'y' if n % 3 else 'x'}\n" for n in range(60))
    return _pieces(folder, "bert", "tags", "my.tsv", f"text\ttags\n{rows}")


def answers(folder: Path) -> Settings:
    """Answers that stand in a text."""
    rows = "".join(f"Which film ?,film {n} is {'good' if n % 3 else 'bad'},film {n}\n" for n in range(60))
    return _pieces(folder, "roberta", "span", "my.csv", f"question,context,answer\n{rows}")


def stories(folder: Path) -> Settings:
    """Stories with questions, some of whose time is skipped by chance."""
    told = "".join(f"Bo is in hall{n}.\nAda is in room{n % 3}.\nWhere is Ada?\troom{n % 3}\n\n" for n in range(30))
    (folder / "my.txt").write_text(told)
    words = [f"data.train={folder / 'my.txt'}", "train.batch_size=5", "model.embedding_size=6", "model.num_hops=2"]
    return resolve({"system": "memory_network"}, [*words, *WORDS])


def facts(folder: Path) -> Settings:
    """Facts, and questions about them."""
    (folder / "facts.csv").write_text("subject,relation,object\n" + "".join(f"hill{n},year,{n % 7}\n" for n in range(30)))
    (folder / "my.csv").write_text("question,answer\n" + "".join(f"when was hill{n} made?,{n % 7}\n" for n in range(30)))
    words = [f"data.facts={folder / 'facts.csv'}", f"data.train={folder / 'my.csv'}", "train.batch_size=5"]
    return resolve({"system": "key_value_memory"}, [*words, "model.embedding_size=6", *WORDS])


def bits(folder: Path) -> Settings:
    """Bits to copy."""
    sizes = ["data.train_size=40", "data.valid_size=12", "data.test_size=2", "model.memory_rows=8", "model.hidden_size=6"]
    return resolve({"system": "neural_turing_machine"}, ["data.name=memory_tasks", *sizes, "train.batch_size=5", *WORDS])


KINDS: dict[str, Callable[[Path], Settings]] = {
    made.__name__: made
    for made in (
        sentences,
        skip_gram,
        bag_of_words,
        documents,
        aspects,
        graph,
        bags,
        pictures,
        numbers,
        in_order,
        expansion,
        outlier,
        cloud,
        glimpses,
        captions,
        questions,
        words_in_pictures,
        windows,
        hidden,
        permuted,
        tags,
        answers,
        stories,
        facts,
        bits,
    )
}
