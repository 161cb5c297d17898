"""The verbs and their options. What they do is in the modules beside, imported when it begins.

A command hands its options on by name (`call`), so a parameter here has the name that it has there.
"""

import importlib
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

app = typer.Typer(
    name="saccade",
    help="Train attention models, run them, and see where they look.\n\n"
    "Begin with: saccade train dates, then saccade look runs/dates '<de_DE> 3. April 2018'.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="What data is known, where it lies, and what is missing.", invoke_without_command=True)
app.add_typer(data_app, name="data")

Option, Argument = typer.Option, typer.Argument
Flag = partial(Option, metavar="")
Many = partial(Option, default_factory=list, show_default=False)

# Options of several verbs
Words = Annotated[
    list[str],
    Argument(
        help="Settings as section.key=value, such as train.steps=500",
        metavar="[KEY=VALUE]…",
        default_factory=list,
        show_default=False,
    ),
]
Name = Annotated[str, Argument(help="A recipe, a system, a TOML file or a run", metavar="NAME")]
ModelPath = Annotated[Path, Argument(help="A run, or a published directory", metavar="MODEL")]
RunPath = Annotated[Path, Argument(help="The directory of a run, such as runs/dates", metavar="RUN")]
File = Annotated[str, Argument(help="A text file, one input a line; - reads standard input", metavar="[FILE]")]
DataName = Annotated[str, Argument(help="The data set", metavar="NAME")]
RunOut = Annotated[Path | None, Option("--out", "-o", help="Directory of the run or runs; else runs/NAME.")]
Drawings = Annotated[list[Path], Many("--out", "-o", help="Draw --lengths as .svg, .png or .html; may be repeated.")]
Split = Annotated[str | None, Option("--split", help="test, valid or train; else test if there is any.")]
OtherData = Annotated[str | None, Option("--data", help="Your own pairs instead: my.tsv, my.jsonl, a.de,a.en")]
NBest = Annotated[int, Option("--n-best", min=1, help="Outputs for each input (and language), the best first.")]
Beam = Annotated[int | None, Option("--beam", min=1, help="Hypotheses followed at once; 1 is greedy.")]
Lengths = Annotated[bool, Flag("--lengths", help="Also score short and long inputs apart, with bars.")]
Scores = Annotated[
    bool, Flag("--scores", help="Put the probability and a tab before each text; a beam ranks by search.length_penalty.")
]
Fresh = Annotated[bool, Flag("--fresh", help="Begin anew; a run that is there stays until the new one has a checkpoint.")]
Precision = Annotated[
    str, Option("--precision", help="Multiply with weights of int8 or int4; perplexity and evaluate say what that costs.")
]
Rounded = Annotated[str | None, Option("--precision", help="Also score weights of int8 or int4, and say what they cost.")]
Which = Annotated[str | None, Option("--checkpoint", help="best, last, average or a step; else the best there is.")]
Device = Annotated[str, Option("--device", help="Where to compute: auto, cpu, cuda, cuda:1, mps, xpu.")]
DataDir = Annotated[str | None, Option("--data-dir", help="Where data lies; else $SACCADE_DATA, else the cache.")]
Json = Annotated[bool, Flag("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, Flag("--quiet", "-q", help="Say nothing but errors.")]


def call(place: str, options: dict[str, Any]) -> None:
    """Run `module.function` of this room with these options by name."""
    module, function = place.split(".")
    getattr(importlib.import_module(f"saccade.cli.{module}"), function)(**options)


def setting_as_file(file: str, words: list[str]) -> dict[str, Any]:
    """The file and the settings, where a setting may stand in the place of the file."""
    if "=" in file and not Path(file).exists():
        return {"file": "-", "words": [file, *words]}
    return {"file": file, "words": words}


def _version(wanted: bool) -> None:
    if wanted:
        from saccade import __version__

        print(f"saccade {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, Flag("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, Flag("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of every verb."""


@app.command()
def train(
    name: Annotated[str, Argument(help="A recipe, a system, a TOML file, or a run to resume", metavar="NAME")],
    words: Words,
    out: RunOut = None,
    resume: Annotated[bool, Flag("--resume", help="Go on with the run in that directory.")] = False,
    fresh: Fresh = False,
    yes: Annotated[bool, Flag("--yes", "-y", help="Download the data if it is not there.")] = False,
    processes: Annotated[int, Option("--processes", min=1, help="Train with so many on this machine (torchrun).")] = 1,
    data_dir: DataDir = None,
    machine: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model: saccade train dates; saccade train bahdanau data.train=my.tsv train.steps=2000.

    Your own pairs come as data.train=my.tsv (source TAB target), my.jsonl, or train.de,train.en. Ctrl-C writes a
    checkpoint and --resume goes on from it, to the same bits as if nothing had happened.

    Most used settings; saccade config NAME shows all, with meaning, values and defaults:

    \b
    data.train=my.tsv         also data.valid, data.test; else some is held out
    train.steps=2000          or train.epochs=10
    train.batch_size=32       examples; or train.batch_tokens=4096
    train.learning_rate=1e-3  with train.warmup=200, train.schedule=cosine
    train.patience=5          early stopping after so many validations
    train.device=cuda         auto, cpu, cuda, cuda:1, mps, xpu
    train.precision=bf16      16 bits where that is safe; auto: what the device has
    train.seed=1              another seed, another model
    model.dropout=0.2         model.hidden_size=256, model.num_layers=2
    tokens.kind=word          char, word or bpe, with tokens.size=8000
    task=label                of systems with several, such as bert: label, tags, span
    start=runs/dates          begin with the parameters and tokens of a run
    train.freeze=embedding.*  parameters that stay as they are
    """
    given = locals()
    if given.pop("processes") > 1:
        call("launching.launch", {"processes": processes, **given})
    else:
        call("verbs.train", given)


@app.command()
def evaluate(
    path: RunPath,
    words: Words,
    out: Drawings,
    split: Split = None,
    data: OtherData = None,
    lengths: Lengths = False,
    precision: Rounded = None,
    which: Which = None,
    device: Device = "auto",
    data_dir: DataDir = None,
    machine: Json = False,
) -> None:
    """Score a run: saccade evaluate runs/dates; saccade evaluate runs/dates search.method=beam --data my.tsv."""
    call("verbs.evaluate", locals())


@app.command()
def predict(
    path: RunPath,
    *,
    file: File = "-",
    words: Words,
    beam: Beam = None,
    n_best: NBest = 1,
    scores: Scores = False,
    which: Which = None,
    device: Device = "auto",
    machine: Json = False,
) -> None:
    """Write an output line for each input line, in order: echo '<en_US> 3/4/18' | saccade predict runs/dates."""
    call("verbs.predict", locals() | setting_as_file(file, words))


@app.command()
def translate(
    path: RunPath,
    *,
    file: File = "-",
    words: Words,
    to: Annotated[str | None, Option("--to", help="Languages, such as de,fr; else all that the run knows.")] = None,
    beam: Beam = None,
    n_best: NBest = 1,
    length_penalty: Annotated[
        float | None, Option("--length-penalty", min=0.0, help="0 favors short texts, 1 ranks by the mean.")
    ] = None,
    scores: Scores = False,
    precision: Precision = "float32",
    which: Which = None,
    device: Device = "auto",
    machine: Json = False,
) -> None:
    """Translate line by line, in order: echo 'ein hund .' | saccade translate runs/multi30k-de-en --beam 5.

    Answers come as soon as their lines are there. A line that is too long is read in pieces, an empty one stays empty.
    """
    call("translating.translate", locals() | setting_as_file(file, words))


@app.command()
def generate(
    path: ModelPath,
    stop: Annotated[list[str], Many("--stop", help="End before this text; may be repeated.", metavar="TEXT")],
    prompt: Annotated[
        str | None, Option("--prompt", "-p", help="The text to go on from; - reads standard input.", metavar="TEXT")
    ] = None,
    file: Annotated[str | None, Option("--file", "-f", help="Prompts instead, one a line, searched together.")] = None,
    max_length: Annotated[int | None, Option("--max-length", min=1, help="Maximum number of new tokens.")] = None,
    slide: Annotated[
        bool | None, Flag("--slide/--no-slide", help="Go on beyond the context, from its later half; else end there.")
    ] = None,
    beam: Beam = None,
    temperature: Annotated[
        float | None, Option("--temperature", help="Below 1: likely tokens more often; above 1: less often.")
    ] = None,
    top_k: Annotated[int | None, Option("--top-k", min=0, help="Draw from the k likeliest tokens; 0: all.")] = None,
    top_p: Annotated[
        float | None, Option("--top-p", help="Draw from the likeliest tokens that reach this probability.")
    ] = None,
    min_p: Annotated[
        float | None, Option("--min-p", help="Draw no token below this share of the likeliest one's probability.")
    ] = None,
    repetition_penalty: Annotated[
        float | None, Option("--repetition-penalty", help="Above 1: tokens that are there already come less often.")
    ] = None,
    seed: Annotated[int | None, Option("--seed", min=0, help="Another seed, another text.")] = None,
    count: Annotated[int, Option("--n", "-n", min=1, help="How many texts, with seeds that follow; or a beam's best.")] = 1,
    precision: Precision = "float32",
    which: Which = None,
    device: Device = "auto",
    machine: Json = False,
) -> None:
    """Go on from a prompt, printed as it is written: saccade generate runs/gpt-shakespeare --prompt 'ROMEO:' --n 3.

    MODEL is a run, or a directory in Hugging Face's layout. A text ends at its end token, before a --stop text, after
    --max-length tokens, or where the context is full.

    The run's own search decides how (section search of saccade config RUN); each option for sampling changes it for this
    command, and makes a run sample that else takes the likeliest token. The same seed writes the same text.
    """
    given = locals()
    keys = ("temperature", "top_k", "top_p", "min_p", "seed", "repetition_penalty")
    call("generating.generate", {"sampling": {key: given.pop(key) for key in keys}, **given})


@app.command()
def perplexity(
    path: ModelPath,
    file: Annotated[Path, Argument(help="A text, also .gz", metavar="FILE")],
    stride: Annotated[
        int | None, Option("--stride", min=1, help="Tokens scored in a window; else half the context. Fewer is slower.")
    ] = None,
    precision: Rounded = None,
    which: Which = None,
    device: Device = "auto",
    machine: Json = False,
) -> None:
    """Score a text with a language model, per token, word and byte: saccade perplexity runs/gpt-shakespeare my.txt.

    Windows overlap: every token is scored once, after at least the context without the stride.
    """
    call("measuring.perplexity", locals())


@app.command()
def fill(
    path: RunPath,
    text: Annotated[str, Argument(help="A text with [MASK] (RoBERTa: <mask>) where tokens are missing", metavar="TEXT")],
    n_best: Annotated[int, Option("--n-best", "-n", min=1, help="Tokens for each place, the likeliest first.")] = 5,
    which: Which = None,
    device: Device = "auto",
    machine: Json = False,
) -> None:
    """Fill in what is missing: saccade fill runs/bert 'The cat [MASK] on the mat.'."""
    call("encoding.fill", locals())


@app.command()
def embed(
    path: RunPath,
    file: File = "-",
    out: Annotated[Path | None, Option("--out", "-o", help="Write them into *.npy or *.jsonl; else printed.")] = None,
    pool: Annotated[
        Literal["mean", "first"] | None, Option("--pool", help="Mean of all tokens, or the first; else the model's own.")
    ] = None,
    normalized: Annotated[
        bool | None, Flag("--normalized/--no-normalized", help="Vectors of length 1; else the model's own.")
    ] = None,
    which: Which = None,
    device: Device = "auto",
    machine: Json = False,
) -> None:
    """Make a vector of each line: saccade embed all-MiniLM-L6-v2 texts.txt --out vectors.npy."""
    call("encoding.embed", locals())


@app.command()
def finetune(
    path: Annotated[Path, Argument(help="A run or a published model to begin with", metavar="MODEL")],
    words: Words,
    out: RunOut = None,
    resume: Annotated[bool, Flag("--resume", help="Go on with the run in that directory.")] = False,
    fresh: Fresh = False,
    data_dir: DataDir = None,
    machine: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model further, for a task: saccade finetune runs/bert task=label data.train=my.tsv.

    As saccade train SYSTEM start=MODEL, where SYSTEM is that of the model. Tasks of encoders: label (texts and pairs), tags
    (a label for each word), span (answers in a text), masked (more running text).
    """
    call("encoding.finetune", locals())


@app.command()
def compare(
    paths: Annotated[list[Path], Argument(help="Runs; the first is the one to beat", metavar="RUN RUN…")],
    out: Drawings,
    split: Split = None,
    data: OtherData = None,
    name: Annotated[
        str | None, Option("--metric", help="Such as macro_f1; else what the best checkpoint was chosen by.")
    ] = None,
    samples: Annotated[int, Option("--samples", min=10, max=100_000, help="Resampled tests.")] = 1000,
    beam: Beam = None,
    lengths: Lengths = False,
    data_dir: DataDir = None,
    machine: Json = False,
) -> None:
    """Compare runs of one kind on the test data of the first, by its own metric: saccade compare runs/a runs/b.

    Whether they differ is tested: accuracy and exact match by the exact McNemar test, all else by paired bootstrap.
    """
    given = locals()
    width = given.pop("beam")
    words = [] if width is None else [f"search.beam={width}", f"search.method={'beam' if width > 1 else 'greedy'}"]
    call("comparing.compare", {**given, "words": words})


@app.command()
def look(
    path: ModelPath,
    texts: Annotated[list[str], Argument(help="What to read", metavar="[TEXT]…", default_factory=list, show_default=False)],
    out: Annotated[list[Path], Many("--out", "-o", help="Write .html, .svg, .png, .json or .trace; may be repeated.")],
    without: Annotated[
        list[str], Many("--without", help="Leave out a head (layer.head, as 3.5) or layer (3), and tell what changes.")
    ],
    file: Annotated[str | None, Option("--file", help="More texts, one a line; - reads standard input.")] = None,
    n_best: NBest = 1,
    to: Annotated[str | None, Option("--to", help="The language, of a run that writes several.")] = None,
    attention: Annotated[str | None, Option("--look", help="Which attention, where there are several.")] = None,
    layer: Annotated[int | None, Option("--layer", min=1, help="Which layer, from 1; else the first.")] = None,
    head: Annotated[int | None, Option("--head", min=0, help="Which head, from 0; else their mean.")] = None,
    drawing: Annotated[
        str | None, Option("--drawing", help="How: heatmap, lines, overview, head_grid …; else what fits.")
    ] = None,
    pixel: Annotated[
        str | None, Option("--pixel", help="From which place of a picture, by row and column: 3,4; else the middle.")
    ] = None,
    reading: Annotated[bool, Flag("--reading", help="A language model only reads the text, and writes nothing.")] = False,
    rollout: Annotated[bool, Flag("--rollout", help="Add attention rollout through all layers.")] = False,
    flow: Annotated[bool, Flag("--flow", help="Add attention flow through all layers.")] = False,
    heads: Annotated[bool, Flag("--heads", help="Report what each head attends to, over all texts.")] = False,
    sort: Annotated[
        str | None,
        Option("--sort", help="Report heads by previous, same, next, first, separator, entropy or distance."),
    ] = None,
    count: Annotated[int | None, Option("--count", "-n", min=1, help="Heads that the report shows; else 20.")] = None,
    width: Annotated[
        int | None, Option("--width", min=16, max=10_000, help="Columns of the picture in the terminal.")
    ] = None,
    color: Annotated[bool | None, Flag("--color/--no-color", help="Else what the terminal can do.")] = None,
    machine: Json = False,
    which: Which = None,
    device: Device = "auto",
) -> None:
    """See where a model looked: saccade look runs/dates '<de_DE> 3. April 2018' --out look.html.

    --heads reports what each head attends to; --without 3.5 tells what an output loses without a head.
    """
    call("looking.look", locals())


@app.command()
def reproduce(
    *,
    name: Annotated[str | None, Argument(help="A table, or a TOML file of one", metavar="[NAME]")] = None,
    words: Words,
    out: RunOut = None,
    rows: Annotated[str | None, Option("--rows", help="Only these, such as global-dot,local-m; else all.")] = None,
    seeds: Annotated[int | None, Option("--seeds", min=1, max=1000, help="How many; else what the table says.")] = None,
    show: Annotated[bool, Flag("--show", help="Show what there is, train nothing.")] = False,
    quick: Annotated[bool, Flag("--quick", help="A few steps and one seed of all, into runs/NAME-quick.")] = False,
    fresh: Fresh = False,
    markdown: Annotated[bool, Flag("--markdown", help="Print the table as Markdown.")] = False,
    into: Annotated[
        Path | None, Option("--into", help="Write it into this page, between <!-- table: NAME --> and its end.")
    ] = None,
    listed: Annotated[bool, Flag("--list", help="List the tables.")] = False,
    data_dir: DataDir = None,
    machine: Json = False,
) -> None:
    """Train all models of a table, with several seeds each, and show mean ± sd: saccade reproduce multi30k-attention.

    Ctrl-C writes a checkpoint and the same command goes on; what is finished is never trained again.
    """
    given = locals()
    if given.pop("listed") or name is None:
        call("listings.tables", {"machine": machine})
    else:
        call("reproducing.reproduce", given)


@app.command()
def vectors(
    files: Annotated[list[Path], Argument(help="Texts, one a line, also .gz; with --near a file of vectors")],
    out: Annotated[Path | None, Option("--out", "-o", help="Learn vectors, and write them into this file.")] = None,
    near: Annotated[str | None, Option("--near", help="List the words that are nearest to this one.")] = None,
    count: Annotated[int, Option("--count", "-n", min=1, help="With --near: how many words.")] = 10,
    width: Annotated[int, Option("--width", min=1, max=10_000, help="Size of a vector.")] = 100,
    window: Annotated[int, Option("--window", min=1, max=1000, help="How far a neighbor may be.")] = 5,
    epochs: Annotated[int, Option("--epochs", min=1, help="How often the texts are read.")] = 5,
    min_count: Annotated[int, Option("--min-count", min=1, help="How often a word must occur.")] = 5,
    lower: Annotated[bool, Flag("--lower", help="Turn texts to lower case first.")] = False,
    seed: Annotated[int, Option("--seed", min=0, help="Decides all that is drawn.")] = 0,
    machine: Json = False,
) -> None:
    """Learn vectors of words (skip-gram): saccade vectors texts.txt --out vectors.txt, or ask some: --near WORD.

    A classifier starts from such a file by reader.vectors=vectors.txt.
    """
    given = locals()
    word, count = given.pop("near"), given.pop("count")
    if word is None:
        call("vectors.make", given)
    else:
        call("vectors.near", {"files": files, "word": word, "count": count, "machine": machine})


@app.command("import")
def import_(
    path: Annotated[Path, Argument(help="A directory in Hugging Face's layout: marian, gpt2, bert …", metavar="DIR")],
    out: Annotated[Path, Option("--out", "-o", help="Directory of the run.")],
    unsafe_bin: Annotated[
        bool, Flag("--unsafe-bin", help="Read pytorch_model.bin, a pickle, of which torch takes tensors alone.")
    ] = False,
) -> None:
    """Make a run of published weights: saccade import opus-mt-de-en --out runs/opus, then saccade translate runs/opus.

    Weights are read from model.safetensors, or from the files that model.safetensors.index.json names.
    """
    call("exchanging.import_", locals())


@app.command()
def export(
    path: RunPath,
    out: Annotated[Path, Argument(help="A new directory", metavar="DIR")],
    kind: Annotated[
        str, Option("--format", help="marian, gpt2, bert, roberta, xlnet (transformers), ct2 (CTranslate2), onnx.")
    ],
    which: Which = None,
) -> None:
    """Write a run for another runtime: saccade export runs/multi30k-de-en fast --format ct2.

    saccade config RUN says which formats its settings allow: all of them for a Transformer as it is by default, onnx for
    systems that label.
    """
    call("exchanging.export", locals())


@app.command("new-project")
def new_project(path: Annotated[Path, Argument(help="A new directory", metavar="DIR")]) -> None:
    """Write a small commented project to begin from: data sample, recipe, notebook: saccade new-project my-project."""
    call("new_project.new_project", locals())


@app.command()
def systems(machine: Json = False) -> None:
    """List the systems: paper, what each reads, attends to and writes, its reader and its writer."""
    call("listings.systems", locals())


@app.command()
def recipes(machine: Json = False) -> None:
    """List the recipes, each trained by: saccade train NAME."""
    call("listings.recipes", locals())


@app.command()
def runs(
    folder: Annotated[Path, Argument(help="Where runs are; else runs", metavar="DIR", show_default=False)] = Path("runs"),
    machine: Json = False,
) -> None:
    """List runs, the newest first: saccade runs; saccade runs experiments; saccade runs --json.

    \b
    state  running, finished, imported, no checkpoint, broken;
           stopped early 400/1,000: by train.patience, at that step
           interrupted 400/1,000: saccade train RUN --resume goes on
           failed 400/1,000: no finite gradient any more
    best   score of the best checkpoint on the validation data
    age    time since something was last written
    size   on the disk
    """
    call("run_listing.runs", locals())


@app.command()
def plot(
    paths: Annotated[list[Path], Argument(help="Runs, also one that is being trained", metavar="RUN…")],
    out: Annotated[list[Path], Many("--out", "-o", help="Write .svg, .png or .html; may be repeated.")],
    metrics: Annotated[
        list[str],
        Many(
            "--metric",
            help="Draw this instead, such as grad_norm, exact_match or loss/GROUP; may be repeated.",
            metavar="NAME",
        ),
    ],
    over: Annotated[str, Option("--over", help="The axis: steps, tokens or time (minutes of training).")] = "steps",
    smooth: Annotated[int, Option("--smooth", min=1, help="Mean of so many lines of the log; 1: as they are.")] = 1,
    log: Annotated[bool, Flag("--log", help="Heights by their logarithms.")] = False,
    width: Annotated[int | None, Option("--width", min=40, max=10_000, help="Columns in the terminal.")] = None,
    color: Annotated[bool | None, Flag("--color/--no-color", help="Else what the terminal can do.")] = None,
) -> None:
    """Draw loss and metrics of runs: saccade plot runs/a runs/b; saccade plot runs/* -o runs.html --smooth 9.

    Unless --metric says otherwise: the loss, and the metric that each best checkpoint is chosen by, one panel for each. The
    legend tells the settings in which the runs differ. In Python: saccade.plot("runs/a", "runs/b").
    """
    call("plotting.plot", locals())


@app.command()
def config(name: Name, words: Words, machine: Json = False) -> None:
    """Show every setting of a recipe or run: value, meaning, allowed values, default: saccade config dates > my.toml.

    Sections: model, data, tokens, reader, writer, train, search; a system has those that it uses. Most used first; the
    head says which presets there are and which exports the settings allow.
    """
    call("listings.config", locals())


@app.command()
def models(machine: Json = False) -> None:
    """List published Transformers: layers, width, heads, parameters (counted, and as a lecture prints them), training."""
    call("plans.models", locals())


@app.command()
def plan(
    name: Annotated[str, Argument(help="A model of saccade models; or a run, recipe, system or TOML file", metavar="NAME")],
    words: Words,
    devices: Annotated[str | None, Option("--devices", help="Such as 512xV100 or 8xA100-80GB; else as published.")] = None,
    tokens: Annotated[str | None, Option("--tokens", help="Such as 157e9, 157B or '300k steps'.")] = None,
    batch: Annotated[int | None, Option("--batch", min=1, help="Sequences of a step.")] = None,
    context: Annotated[int | None, Option("--context", min=1, help="Tokens of a sequence.")] = None,
    precision: Annotated[str | None, Option("--precision", help="mixed (16 bits, float32 kept) or float32.")] = None,
    recompute: Annotated[str | None, Option("--recompute", help="auto, on or off: activations computed twice.")] = None,
    price: Annotated[float | None, Option("--price", min=0.0, help="Dollars for an hour of one device.")] = None,
    prices: Annotated[Path | None, Option("--prices", help="A TOML file of prices, instead of ours or your own.")] = None,
    data_dir: DataDir = None,
    machine: Json = False,
) -> None:
    """Say what a training takes before it is begun: saccade plan megatron-8.3b --devices 512xV100 --tokens 157e9.

    Of a published model (saccade models), or with --devices of a gpt2 or transformer of yours: FLOPs, memory of a device,
    a layout that fits, days and dollars as ranges, and all that is assumed. Of any recipe or run without --devices: a few
    real steps on this machine are measured, and the time of all of them told.
    """
    call("plans.plan", locals())


@app.command()
def doctor(data_dir: DataDir = None, machine: Json = False) -> None:
    """Look at this machine: versions, threads, kernels, data, disk."""
    call("listings.doctor", locals())


@data_app.callback()
def data(context: typer.Context, data_dir: DataDir = None, machine: Json = False) -> None:
    """List known data: its files, the directory they belong into, which are missing, licence and official address."""
    if context.invoked_subcommand is None:
        call("listings.data", {"data_dir": data_dir, "machine": machine})


@data_app.command("show")
def data_show(name: DataName, data_dir: DataDir = None, machine: Json = False) -> None:
    """Name every file of a data set: where it belongs, and whether it is there and unchanged."""
    call("listings.data_show", locals())


@data_app.command("get")
def data_get(name: DataName, data_dir: DataDir = None) -> None:
    """Download what is missing of a data set, and check it: saccade data get multi30k.

    A download that was cut goes on where it was. SACCADE_MIRROR=URL asks that site instead, for HOST/PATH of each address.
    """
    call("listings.data_get", locals())


@data_app.command("sample")
def data_sample(
    *,
    name: Name = "dates",
    words: Words,
    count: Annotated[int, Option("--count", "-n", min=1, help="How many pairs.")] = 10,
    split: Annotated[str, Option("--split", help="test, valid or train.")] = "test",
) -> None:
    """Print pairs of a recipe's data as TSV: source, target, group."""
    call("verbs.sample", locals())
