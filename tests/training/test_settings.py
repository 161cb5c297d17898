"""Settings: every key lives in one place, and one that would have no effect is refused with the place where it lives."""

from pathlib import Path

import pytest

from saccade import recipes, systems
from saccade.errors import DataError, UnknownName, UsageError
from saccade.training.settings import SECTIONS, Settings, base, fitting, kinds, resolve

OWN = {"gat": "data.nodes=n.csv"}  # where the user's own files are named otherwise


def own(system: str, *words: str) -> Settings:
    """The settings of a system with files of one's own."""
    return resolve(base(system), [OWN.get(system, "data.train=my.tsv"), *words])


@pytest.mark.parametrize("name", recipes.names())
def test_a_recipe_is_resolved_and_read_back(name: str) -> None:
    settings = resolve(base(name))
    assert resolve(settings.table()) == settings
    assert list(settings.table()) == ["system", *kinds(settings.system, settings.dataset)]


@pytest.mark.parametrize("system", systems.names())
def test_a_run_has_only_the_sections_of_its_parts(system: str) -> None:
    known = kinds(system, resolve(base(system)).dataset)
    for section in SECTIONS:
        if section not in known:
            with pytest.raises(UsageError, match=rf"^{section}\.xyzzy: {system} has no section \[{section}\]; leave it out"):
                own(system, f"{section}.xyzzy=1")
        else:
            with pytest.raises(UnknownName, match=rf"unknown key in \[{section}\] 'xyzzy'"):
                own(system, f"{section}.xyzzy=1")


@pytest.mark.parametrize(
    ("recipe", "word", "told"),
    [
        ("gat-cora", "tokens.size=77", "tokens.size: gat has no section [tokens]; leave it out (see: saccade config gat)"),
        ("gat-cora", "search.beam=9", "search.beam: gat has no section [search]; leave it out (see: saccade config gat)"),
        ("gat-cora", "reader.max_length=9", "reader.max_length: gat has no section [reader]; "),
        (
            "dates",
            "train.label_smoothing=0.1",
            "train.label_smoothing: no such key; did you mean writer.label_smoothing=0.1?",
        ),
        ("dates", "train.smoothing=0.1", "train.smoothing: no such key; did you mean writer.label_smoothing=0.1?"),
        ("dates", "train.lr=0.1", "train.lr: no such key; did you mean train.learning_rate=0.1?"),
        ("dates", "train.rate=0.1", "train.rate: no such key; did you mean train.learning_rate=0.1?"),
        ("dates", "model.learning_rate=0.1", "model.learning_rate: no such key; did you mean train.learning_rate=0.1?"),
        ("dates", "train.dropout=0.1", "train.dropout: no such key; did you mean model.dropout=0.1?"),
        ("dates", "train.max_grad_norm=1", "train.max_grad_norm: no such key; did you mean train.clip=1?"),
        ("dates", "train.num_train_epochs=1", "train.num_train_epochs: no such key; did you mean train.epochs=1?"),
        ("dates", "model.max_length=9", "model.max_length: no such key; did you mean reader.max_length=9 or "),
        ("dates", "tokens.vocab_size=9", "tokens.vocab_size: no such key; did you mean tokens.size=9?"),
        ("multi30k-de-en", "model.d_model=9", "model.d_model: no such key; did you mean model.hidden_size=9?"),
        ("multi30k-de-en", "model.n_heads=9", "model.n_heads: no such key; did you mean model.num_heads=9?"),
        ("dates", "train.stepz=9", "unknown key in [train] 'stepz'; did you mean 'steps'?"),
        ("dates", "task.longest=9", "task.longest: no such key; expected task=NAME, such as task=label"),
        ("dates", "trian.steps=9", "unknown section 'trian'; did you mean 'train'?"),
        ("dates", "lr=1e-3", "lr: expected section.key=value; did you mean train.learning_rate=1e-3?"),
        ("dates", "learning-rate=1e-3", "learning-rate: expected section.key=value; did you mean train.learning_rate=1e-3?"),
        ("dates", "optim.lr=1e-3", "optim.lr: expected section.key=value; did you mean train.learning_rate=1e-3?"),
        ("dates", "stepz=5", "stepz: expected section.key=value; did you mean train.steps=5?"),
        ("dates", "fp16=true", "fp16: expected section.key=value; did you mean train.precision=fp16?"),
        ("dates", "train.start=runs/x", "train.start: no such key; did you mean start=runs/x?"),
        ("dates", "train.gpus=2", "train.gpus: several processes are started by --processes N, or by torchrun"),
        ("dates", "data=my.tsv", "data: expected section.key=value; did you mean data.train=my.tsv?"),
        ("dates", "train_size=40", "train_size: expected section.key=value; did you mean data.train_size=40?"),
        ("transformer", "model.num_layers=4", "model.num_layers: no such key; did you mean model.encoder_layers=4?"),
        ("gat-cora", "beam_size=3", "expected section.key=value, got 'beam_size=3'; for example train.steps=500"),
        ("dates", "foo=3", "expected section.key=value, got 'foo=3'; for example train.steps=500"),
    ],
)
def test_a_key_that_would_have_no_effect_is_refused(recipe: str, word: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        resolve(base(recipe), [word])
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_what_a_recipe_says_is_refused_alike() -> None:
    with pytest.raises(UsageError, match=r"^tokens\.size: gat has no section"):
        resolve({"system": "gat", "tokens": {"size": 77}}, ["data.nodes=n.csv"])


def test_names_that_stand_for_nothing() -> None:
    with pytest.raises(DataError, match=r"^runs/nope: no such run; expected a recipe"):
        base("runs/nope")
    with pytest.raises(UnknownName, match=r"unknown recipe or system 'datse'; did you mean 'dates'"):
        base("datse")
    with pytest.raises(UsageError, match=r'expected system = "NAME"; known: ask_attend_answer'):
        resolve({})
    with pytest.raises(UsageError, match="expected sections such as"):
        resolve({"system": "gat", "train": 3})
    with pytest.raises(UsageError, match=r"^data\.name: expected a name, got 3$"):
        resolve({"system": "gat", "data": {"name": 3}})


def test_files_of_the_user_take_the_place_of_the_recipes_data() -> None:
    settings = resolve(base("multi30k-de-en"), ["data.train=my.tsv"])
    assert (settings.dataset, settings.data.train) == ("text_files", "my.tsv")
    graph = resolve(base("gat-cora"), ["data.nodes=n.csv"])
    assert (graph.dataset, graph.data.nodes) == ("graph_files", "n.csv")


def test_a_preset_stands_above_defaults_and_under_what_is_given() -> None:
    given = ["data.train=my.tsv", "model.preset=base", "model.num_heads=1", "train.warmup=7"]
    made, bare = resolve(base("transformer"), given), resolve(base("transformer"), ["data.train=my.tsv"])
    assert (made.model.hidden_size, made.model.num_heads, bare.model.hidden_size) == (512, 1, 128)
    assert (made.train.schedule, made.train.warmup, bare.train.schedule) == ("inverse_sqrt", 7, "cosine")
    assert made.writer == bare.writer
    with pytest.raises(UnknownName, match=r"unknown preset of transformer 'xyzzy'"):
        resolve(base("transformer"), ["model.preset=xyzzy"])


@pytest.mark.parametrize("system", systems.names())
def test_every_system_and_its_presets_have_settings(system: str) -> None:
    """With nothing else said, and with early stopping or a learning rate that falls."""
    bare = resolve(base(system))
    assert bare.train.schedule in ("cosine", "linear", "step") or bare.train.patience
    for name in getattr(systems.load(system), "PRESETS", {}):
        assert resolve(base(system), [f"model.preset={name}"]).model != bare.model


@pytest.mark.parametrize(
    ("system", "dataset", "told"),
    [
        ("gat", "dates", "gat: expected examples of node "),
        ("bahdanau", "fashion_mnist", "bahdanau: expected examples of text "),
        ("se_resnet", "musk1", "unknown data set"),
        ("attention_mil", "dates", "attention_mil: expected examples of bag "),
        ("deep_sets", "planetoid", "deep_sets: expected examples of text or bag "),
    ],
)
def test_data_that_does_not_fit_is_refused_before_it_is_loaded(system: str, dataset: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        fitting(resolve({"system": system, "data": {"name": dataset}}))
    assert str(error.value).startswith(told)
    if not told.startswith("unknown"):
        assert str(error.value).endswith(f"got data.name={dataset}")


@pytest.mark.parametrize(
    ("system", "last", "place"), [("bert", "true", "first"), ("roberta", "true", "first"), ("xlnet", "false", "last")]
)
@pytest.mark.parametrize("task", [(), ("task=label",)], ids=["text", "label"])
def test_a_class_token_that_no_system_would_look_for_is_refused(
    system: str, last: str, place: str, task: tuple[str, ...]
) -> None:
    fitting(own(system, *task))
    own_place = "true" if place == "last" else "false"
    told = f"reader.class_last: {system} reads the class token {place}; set reader.class_last={own_place}"
    with pytest.raises(UsageError, match=told):
        fitting(own(system, *task, f"reader.class_last={last}"))


@pytest.mark.parametrize("name", recipes.names())
def test_data_of_a_recipe_fits_its_system(name: str) -> None:
    fitting(resolve(base(name)))


def test_a_file_of_settings_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('system = "luong"\n\n[train]\nepochs = 2\n\n[writer]\nlabel_smoothing = 0.1\n')
    settings = resolve(base(str(tmp_path / "mine.toml")), ["data.train=my.tsv"])
    assert (settings.system, settings.train.epochs, settings.writer.label_smoothing) == ("luong", 2.0, 0.1)


@pytest.mark.parametrize(
    ("system", "kind"), [("han", "word"), ("atae_lstm", "word"), ("deep_sets", "word"), ("luong", "bpe")]
)
def test_a_system_takes_the_tokens_that_suit_it(system: str, kind: str) -> None:
    def kind_of(*words: str, **tables: dict[str, str]) -> str:
        tokens = resolve({"system": system, **tables}, ["data.train=my.tsv", *words]).tokens
        assert tokens is not None
        return tokens.kind

    assert kind_of() == kind
    assert kind_of("tokens.kind=bpe") == "bpe"
    assert kind_of(tokens={"kind": "char"}) == "char"


def test_a_key_of_another_way_to_search_is_refused() -> None:
    data = "data.train=my.tsv"
    with pytest.raises(UsageError, match=r"^search\.beam: says nothing to search\.method=greedy; add search\.method=beam$"):
        resolve({"system": "luong"}, [data, "search.beam=3"])
    with pytest.raises(UsageError, match=r"add search\.method=sample"):
        resolve({"system": "luong"}, [data, "search.method=beam", "search.top_k=3"])
    for search in (
        resolve({"system": "luong"}, [data, "search.method=beam", "search.beam=3"]).search,
        resolve({"system": "luong", "search": {"method": "beam"}}, [data, "search.beam=3"]).search,
    ):
        assert search is not None
        assert search.beam == 3


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("strat=runs/a", r"strat: expected section\.key=value; did you mean start=runs/a\?"),
        ("pretrained=runs/a", r"pretrained: a training begins with a trained model by start=RUN"),
        ("train.model_name_or_path=a", r"train\.model_name_or_path: a training begins with a trained model by start=RUN"),
        ("llrd=0.9", r"did you mean train\.layer_decay=0\.9\?"),
    ],
)
def test_what_may_be_meant_by_a_start_is_told(word: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        resolve(base("document_attention"), [word])


# Systems with several tasks


def test_a_task_chooses_reader_and_writer_and_is_written_only_if_it_is_not_the_first() -> None:
    first, same = (resolve({"system": "bert"}, ["data.train=a.txt", *words]) for words in ([], ["task=masked"]))
    assert first == same
    assert first.task == ""
    assert "task" not in first.table()
    label = resolve({"system": "bert"}, ["task=label", "data.train=a.tsv", "writer.label_smoothing=0.1"])
    assert label.table()["task"] == "label"
    assert list(label.table())[:2] == ["system", "task"]
    assert (label.dataset, label.writer.label_smoothing) == ("pair_files", 0.1)
    assert resolve(label.table()) == label
    assert resolve({**label.table(), "task": "tags", "writer": {}, "data": {}}).dataset == "tagged_files"


@pytest.mark.parametrize(
    ("table", "words", "told"),
    [
        ({"system": "bert"}, ["task=labels"], "unknown task of bert 'labels'; did you mean 'label'?"),
        ({"system": "gpt2"}, ["task=label"], "task: gpt2 has one task only, got 'label'; leave it out"),
        ({"system": "bert", "task": 3}, [], "task: expected the name of a task, got 3"),
        ({"system": "bert"}, ["task=label", "writer.next_sentence=true"], "unknown key in [writer] 'next_sentence'"),
        ({"system": "bert", "task": "span"}, ["data.pair=x"], "unknown key in [data] 'pair'"),
    ],
)
def test_a_task_that_is_not_there_and_keys_of_another_are_refused(
    table: dict[str, object], words: list[str], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        resolve(table, words)
    assert str(refused.value).startswith(told)


def test_what_begins_with_a_run_takes_its_sizes_and_how_it_reads() -> None:
    before = resolve(
        {"system": "bert"}, ["data.train=a.txt", "model.hidden_size=64", "reader.max_length=77", "tokens.size=999"]
    )
    after = resolve({"system": "bert"}, ["task=tags", "data.train=a.tsv", "start=runs/a"], before)
    assert (after.model.hidden_size, after.reader.max_length) == (64, 77)
    assert after.tokens == before.tokens
