"""The verbs and their options. What they do is in `saccade.cli.verbs` and `listings`, imported when it begins."""

from pathlib import Path
from typing import Annotated

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

Words = Annotated[
    list[str] | None, typer.Argument(help="Settings as section.key=value, such as train.steps=500", metavar="[KEY=VALUE]…")
]
RunPath = Annotated[Path, typer.Argument(help="The directory of a run, such as runs/dates", metavar="RUN")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", metavar="")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", metavar="")]
DataDir = Annotated[str | None, typer.Option("--data-dir", help="Where data lies; else $SACCADE_DATA, else the cache.")]
Drawings = Annotated[
    list[Path] | None,
    typer.Option("--out", "-o", help="Draw --lengths as .svg, .png or .html; may be given more than once."),
]
Device = Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu, cuda, cuda:1, mps, xpu.")]
Which = Annotated[str | None, typer.Option("--checkpoint", help="best, last, average or a step; else the best there is.")]


def _version(wanted: bool) -> None:
    if wanted:
        from saccade import __version__

        print(f"saccade {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.", metavar="")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", metavar="")] = False,
) -> None:
    """Options of every verb."""


@app.command()
def train(
    name: Annotated[str, typer.Argument(help="A recipe, a system, a TOML file, or a run to resume", metavar="NAME")],
    words: Words = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Directory of the run; else runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that directory.", metavar="")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew; the run there stays until the new one has a checkpoint.", metavar="")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Download the data if it is not there.", metavar="")] = False,
    data_dir: DataDir = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model: saccade train dates; saccade train bahdanau data.train=my.tsv train.steps=2000.

    Your own pairs come as data.train=my.tsv (source TAB target), my.jsonl, or train.de,train.en. Ctrl-C writes a
    checkpoint and --resume goes on from it, to the same bits as if nothing had happened.
    """
    from saccade.cli import verbs

    verbs.train(name, words or [], out, resume=resume, fresh=fresh, data_dir=data_dir, machine=json, quiet=quiet, yes=yes)


@app.command()
def evaluate(
    run: RunPath,
    words: Words = None,
    split: Annotated[str | None, typer.Option("--split", help="test, valid or train; else test if there is any.")] = None,
    data: Annotated[str | None, typer.Option("--data", help="Your own pairs instead: my.tsv, my.jsonl, a.de,a.en")] = None,
    lengths: Annotated[
        bool, typer.Option("--lengths", help="Also score short and long inputs apart, with bars.", metavar="")
    ] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Score 8-bit weights as well, and say what they cost.", metavar="")
    ] = False,
    out: Drawings = None,
    checkpoint: Which = None,
    device: Device = "auto",
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Score a run: saccade evaluate runs/dates; saccade evaluate runs/dates search.method=beam --data my.tsv."""
    from saccade.cli import verbs

    verbs.evaluate(
        run,
        words or [],
        split,
        data,
        checkpoint,
        data_dir=data_dir,
        device=device,
        machine=json,
        lengths=lengths,
        int8=int8,
        out=out or [],
    )


@app.command()
def predict(
    run: RunPath,
    file: Annotated[
        str, typer.Argument(help="A text file, one input a line; - reads standard input", metavar="[FILE]")
    ] = "-",
    words: Words = None,
    n_best: Annotated[int, typer.Option("--n-best", min=1, help="Texts for each input.")] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Put the log-probability and a tab before each text.", metavar="")
    ] = False,
    checkpoint: Which = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Write an output line for each input line, in order: echo '<en_US> 3/4/18' | saccade predict runs/dates."""
    from saccade.cli import verbs

    if "=" in file and not Path(file).exists():  # a setting in the place of the file
        words, file = [file, *(words or [])], "-"
    verbs.predict(run, file, words or [], n_best, checkpoint, device=device, scores=scores, machine=json)


@app.command()
def translate(
    run: RunPath,
    file: Annotated[
        str, typer.Argument(help="A text file, one sentence a line; - reads standard input", metavar="[FILE]")
    ] = "-",
    words: Words = None,
    to: Annotated[str | None, typer.Option("--to", help="Languages, such as de,fr; else all that the run knows.")] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="Hypotheses followed at once; 1 is greedy.")] = None,
    n_best: Annotated[int, typer.Option("--n-best", min=1, help="Texts for each sentence and language.")] = 1,
    length_penalty: Annotated[
        float | None, typer.Option("--length-penalty", min=0.0, help="0 favors short texts, 1 ranks by the mean.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Put the log-probability and a tab before each text.", metavar="")
    ] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Multiply with 8-bit weights; evaluate --int8 says what they cost.", metavar="")
    ] = False,
    checkpoint: Which = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Translate line by line, in order: echo 'ein hund .' | saccade translate runs/multi30k-de-en --beam 5.

    Answers come as soon as their lines are there. A line that is too long is read in pieces, an empty one stays empty.
    """
    from saccade.cli import translating

    if "=" in file and not Path(file).exists():  # a setting in the place of the file
        words, file = [file, *(words or [])], "-"
    translating.translate(
        run,
        file,
        words or [],
        checkpoint,
        to=to,
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        scores=scores,
        int8=int8,
        device=device,
        machine=json,
    )


@app.command()
def generate(
    run: RunPath,
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="The text to go on from.", metavar="TEXT")],
    max_length: Annotated[int | None, typer.Option("--max-length", min=1, help="Maximum number of new tokens.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", help="Below 1: likely tokens more often; above 1: less often.")
    ] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", min=0, help="Draw from the k likeliest tokens; 0: all.")] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", help="Draw from the likeliest tokens that reach this probability.")
    ] = None,
    min_p: Annotated[
        float | None, typer.Option("--min-p", help="Draw no token below this share of the likeliest one's probability.")
    ] = None,
    repetition_penalty: Annotated[
        float | None, typer.Option("--repetition-penalty", help="Above 1: tokens that are there already come less often.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Another seed, another text.")] = None,
    count: Annotated[int, typer.Option("--n", "-n", min=1, help="How many texts, with seeds that follow each other.")] = 1,
    checkpoint: Which = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Go on from a prompt, printed as it is written: saccade generate runs/gpt-shakespeare --prompt 'ROMEO:' --n 3.

    The run's own search decides how (section search of saccade config RUN); each option for sampling changes it for this
    command, and makes a run sample that else takes the likeliest token. The same seed writes the same text.
    """
    from saccade.cli import generating

    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "seed": seed}
    generating.generate(
        run,
        prompt,
        checkpoint,
        count=count,
        max_length=max_length,
        sampling={**sampling, "repetition_penalty": repetition_penalty},
        device=device,
        machine=json,
    )


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Runs; the first is the one to beat", metavar="RUN RUN…")],
    split: Annotated[
        str | None, typer.Option("--split", help="test, valid or train of the first run; else test if there is any.")
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=10, max=100_000, help="Resampled tests.")] = 1000,
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="Search all runs with such a beam.")] = None,
    lengths: Annotated[
        bool, typer.Option("--lengths", help="Also compare on short and on long inputs apart.", metavar="")
    ] = False,
    out: Drawings = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Compare translations of one test: BLEU, paired bootstrap, and sentences side by side."""
    from saccade.cli import translating

    words = [] if beam is None else [f"search.beam={beam}", f"search.method={'beam' if beam > 1 else 'greedy'}"]
    translating.compare(runs, words, split, samples, data_dir=data_dir, machine=json, lengths=lengths, out=out or [])


@app.command()
def look(
    run: RunPath,
    texts: Annotated[list[str], typer.Argument(help="What to read", metavar="TEXT…")],
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Write .html, .svg, .png or .trace; may be given more than once."),
    ] = None,
    n_best: Annotated[int, typer.Option("--n-best", min=1, help="Pictures of the best so many texts.")] = 1,
    to: Annotated[str | None, typer.Option("--to", help="The language, of a run that writes several.")] = None,
    attention: Annotated[str | None, typer.Option("--look", help="Which attention, where there are several.")] = None,
    head: Annotated[int | None, typer.Option("--head", min=0, help="Which head; else their mean.")] = None,
    width: Annotated[
        int | None, typer.Option("--width", min=16, max=10_000, help="Columns of the picture in the terminal.")
    ] = None,
    color: Annotated[
        bool | None, typer.Option("--color/--no-color", help="Else what the terminal can do.", metavar="")
    ] = None,
    checkpoint: Which = None,
    device: Device = "auto",
) -> None:
    """See where a model looked: saccade look runs/dates '<de_DE> 3. April 2018' --out look.html."""
    from saccade.cli import verbs

    verbs.look(
        run,
        texts,
        out or [],
        n_best,
        checkpoint,
        to=to,
        attention=attention,
        head=head,
        width=width,
        color=color,
        device=device,
    )


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="A table, or a TOML file of one", metavar="[NAME]")] = None,
    words: Words = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the runs go; else runs/NAME.")] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="Only these, such as global-dot,local-m; else all.")] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=1000, help="How many; else what the table says.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Show what there is, train nothing.", metavar="")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few steps and one seed of all, into runs/NAME-quick.", metavar="")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Train all anew; each run stays until its new one has a checkpoint.", metavar="")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.", metavar="")] = False,
    into: Annotated[
        Path | None, typer.Option("--into", help="Write it into this page, between <!-- table: NAME --> and its end.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the tables.", metavar="")] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Train all models of a table, with several seeds each, and show mean ± sd: saccade reproduce multi30k-attention.

    Ctrl-C writes a checkpoint and the same command goes on; what is finished is never trained again.
    """
    if listed or name is None:
        from saccade.cli import listings

        listings.tables(machine=json)
        return
    from saccade.cli import reproducing

    reproducing.reproduce(
        name,
        words or [],
        out,
        rows=rows,
        seeds=seeds,
        show=show,
        quick=quick,
        fresh=fresh,
        markdown=markdown,
        into=into,
        data_dir=data_dir,
        machine=json,
    )


@app.command()
def vectors(
    files: Annotated[list[Path], typer.Argument(help="Texts, one a line, also .gz; with --near a file of vectors")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Learn vectors, and write them into this file.")] = None,
    near: Annotated[str | None, typer.Option("--near", help="List the words that are nearest to this one.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="With --near: how many words.")] = 10,
    width: Annotated[int, typer.Option("--width", min=1, max=10_000, help="Size of a vector.")] = 100,
    window: Annotated[int, typer.Option("--window", min=1, max=1000, help="How far a neighbor may be.")] = 5,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="How often the texts are read.")] = 5,
    min_count: Annotated[int, typer.Option("--min-count", min=1, help="How often a word must occur.")] = 5,
    lower: Annotated[bool, typer.Option("--lower", help="Turn texts to lower case first.", metavar="")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides all that is drawn.")] = 0,
    json: Json = False,
) -> None:
    """Learn vectors of words (skip-gram): saccade vectors texts.txt --out vectors.txt, or ask some: --near WORD.

    A classifier starts from such a file by reader.vectors=vectors.txt.
    """
    from saccade.cli import vectors as word_vectors

    if near is not None:
        word_vectors.near(files, near, count, machine=json)
    else:
        word_vectors.make(
            files, out, width=width, window=window, epochs=epochs, min_count=min_count, lower=lower, seed=seed, machine=json
        )


@app.command("import")
def import_(
    directory: Annotated[Path, typer.Argument(help="A directory of Hugging Face's MarianMTModel", metavar="DIR")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the run.")],
) -> None:
    """Make a run of published weights: saccade import opus-mt-de-en --out runs/opus, then saccade translate runs/opus."""
    from saccade.cli import exchanging

    exchanging.import_(directory, out)


@app.command()
def export(
    run: RunPath,
    directory: Annotated[Path, typer.Argument(help="A new directory", metavar="DIR")],
    kind: Annotated[str, typer.Option("--format", help="marian (transformers), ct2 (CTranslate2) or onnx.")],
    checkpoint: Which = None,
) -> None:
    """Write a Transformer for another runtime: saccade export runs/multi30k-de-en fast --format ct2."""
    from saccade.cli import exchanging

    exchanging.export(run, directory, kind, checkpoint)


@app.command()
def systems(json: Json = False) -> None:
    """List the systems: paper, what each reads, attends to and writes, its reader and its writer."""
    from saccade.cli import listings

    listings.systems(machine=json)


@app.command()
def recipes(json: Json = False) -> None:
    """List the recipes, each trained by: saccade train NAME."""
    from saccade.cli import listings

    listings.recipes(machine=json)


@app.command()
def config(
    name: Annotated[str, typer.Argument(help="A recipe, a system, a TOML file or a run", metavar="NAME")],
    words: Words = None,
    json: Json = False,
) -> None:
    """Show every setting of a recipe or run with its value, meaning and default, as TOML: saccade config dates > my.toml.

    Sections: model, data, tokens, reader, writer, train, search; a system has those that it uses.
    """
    from saccade.cli import listings

    listings.config(name, words or [], machine=json)


@app.command()
def doctor(data_dir: DataDir = None, json: Json = False) -> None:
    """Look at this machine: versions, threads, kernels, data, disk."""
    from saccade.cli import listings

    listings.doctor(data_dir, machine=json)


@data_app.callback()
def data(context: typer.Context, data_dir: DataDir = None, json: Json = False) -> None:
    """List known data: its files, the directory they belong into, which are missing, licence and official address."""
    if context.invoked_subcommand is None:
        from saccade.cli import listings

        listings.data(data_dir, machine=json)


@data_app.command("show")
def data_show(
    name: Annotated[str, typer.Argument(help="The data set", metavar="NAME")],
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Name every file of a data set: where it belongs, and whether it is there and unchanged."""
    from saccade.cli import listings

    listings.data_show(name, data_dir, machine=json)


@data_app.command("get")
def data_get(
    name: Annotated[str, typer.Argument(help="The data set", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    """Download what is missing of a data set, and check it: saccade data get multi30k.

    A download that was cut goes on where it was. SACCADE_MIRROR=URL asks that site instead, for HOST/PATH of each address.
    """
    from saccade.cli import listings

    listings.data_get(name, data_dir)


@data_app.command("sample")
def data_sample(
    name: Annotated[str, typer.Argument(help="A recipe, a system or a TOML file", metavar="NAME")] = "dates",
    words: Words = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many pairs.")] = 10,
    split: Annotated[str, typer.Option("--split", help="test, valid or train.")] = "test",
) -> None:
    """Print pairs of a recipe's data as TSV: source, target, group."""
    from saccade.cli import verbs

    verbs.sample(name, words or [], count, split)
