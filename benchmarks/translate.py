"""Translating with Transformers of two sizes: sentences per second beside Hugging Face Marian and CTranslate2.

python benchmarks/translate.py            some minutes
python benchmarks/translate.py --quick    at most a minute: 64 of the 256 sentences

The same random weights for all, 32,000 tokens: 6 + 6 layers, width 512, 8 heads, hidden 2048 (base, the paper's), and our
default, 128 wide (small). 256 sentences of 11 to 19
tokens, sorted by length, in batches of 64; the end is forbidden, so that everyone writes exactly 20 tokens. Needs the
extra `bench`: transformers and ctranslate2; a peer that is not installed is left out, and said to be.
"""

import cProfile
import functools
import importlib.util
import itertools
import pstats
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

import torch
from kit import Report, apart, arguments

from saccade.data.tensors import TextInput, padded
from saccade.data.tokenizers import END, PAD, START, learned_layout
from saccade.exchange.ct2 import specification
from saccade.exchange.families.marian import their_config, their_tensors
from saccade.layers.linear import at_rest
from saccade.search import Config as SearchConfig
from saccade.search import search
from saccade.systems.transformer import Config, Model

VOCABULARY, BATCH, WRITTEN = learned_layout(32_000), 64, 20
BASE = {"hidden_size": 512, "num_heads": 8, "intermediate_size": 2048, "encoder_layers": 6, "decoder_layers": 6}
SIZES: dict[str, dict[str, Any]] = {"base": BASE, "small": {}}
PEERS = {"hf": "transformers", "ct2": "ctranslate2", "ct2 int8": "ctranslate2"}
Translate = Callable[[], list[list[int]]]


def sentences(count: int) -> list[list[int]]:
    """Random sources, longest first, as every toolkit sorts them."""
    torch.manual_seed(1)
    lengths = torch.randint(11, 20, (count,)).sort(descending=True).values.tolist()
    return [torch.randint(END + 2, VOCABULARY.size, (length,)).tolist() for length in lengths]


def config_of(size: str) -> Config:
    """As Marian's models are."""
    return Config(**SIZES[size], norm="post", final_norm="none", positions="sinusoidal_halves", output_bias="learned")


def model(size: str) -> Model:
    """The weights of all; nobody ever ends a text."""
    torch.manual_seed(0)
    made = Model(config_of(size), VOCABULARY, VOCABULARY).eval()
    with torch.no_grad():
        made.output.bias[[PAD, START, END]] = -1e9
    return made


def batches(sources: list[list[int]]) -> list[list[list[int]]]:
    return [sources[first : first + BATCH] for first in range(0, len(sources), BATCH)]


def ours(size: str, sources: list[list[int]], beam: int, precision: Any) -> Translate:
    """Our search."""
    made, context = model(size), copy_context()
    context.run(at_rest(precision).__enter__)  # the weights are laid out once, as for a whole file
    method: Any = "greedy" if beam == 1 else "beam"
    config = SearchConfig(method=method, beam=beam, max_length=WRITTEN)

    def translate() -> list[list[int]]:
        texts = []
        for batch in batches(sources):
            source, lengths = padded(batch)
            with torch.inference_mode():
                memory = made.read(TextInput(source, lengths))
                found = search(made, memory, config, inputs=len(batch), start=START, end=END, banned=(PAD, START))
            texts += [best[0].tokens for best in found]
        return texts

    return lambda: context.run(translate)


def marian(size: str) -> Any:
    """The same model in Hugging Face's form."""
    import transformers

    transformers.logging.set_verbosity_error()
    made = transformers.MarianMTModel(
        transformers.MarianConfig(**their_config(config_of(size), VOCABULARY, VOCABULARY, 512))
    )
    given = their_tensors(model(size))
    sides = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
    missing = made.load_state_dict({**given, **dict.fromkeys(sides, given["model.shared.weight"])}, strict=False)
    assert not missing.unexpected_keys, missing
    return made.eval()


def hugging_face(size: str, sources: list[list[int]], beam: int) -> Translate:
    """Their generate."""
    made = marian(size)

    def translate() -> list[list[int]]:
        texts = []
        for batch in batches(sources):
            source, _ = padded(batch)
            with torch.inference_mode():
                found = made.generate(
                    source,
                    attention_mask=(source != PAD).long(),
                    num_beams=beam,
                    do_sample=False,
                    max_new_tokens=WRITTEN,
                    early_stopping=False,
                )
            texts += found[:, 1:].tolist()
        return texts

    return translate


def ctranslate(size: str, sources: list[list[int]], beam: int, precision: str, threads: int) -> Translate:
    """Their Translator; every token is named by its number."""
    import ctranslate2

    spec, names = specification(model(size), VOCABULARY, 64), [str(number) for number in range(VOCABULARY.size)]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = names[START]
    spec.config.eos_token, spec.config.unk_token, spec.config.add_source_eos = names[END], names[-1], False
    spec.validate()
    spec.optimize(None if precision == "float32" else precision)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        options = {"device": "cpu", "intra_threads": threads, "inter_threads": 1, "compute_type": precision}
        translator = ctranslate2.Translator(folder, **options)
    words = [[str(token) for token in source] for source in sources]

    def translate() -> list[list[int]]:
        search = {"beam_size": beam, "max_decoding_length": WRITTEN}
        found = translator.translate_batch(words, max_batch_size=BATCH, batch_type="examples", **search)
        return [[int(word) for word in text.hypotheses[0]] for text in found]

    return translate


def build(size: str, count: int, beam: int, threads: int, names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """The named ones."""
    sources = sentences(count)
    makers: dict[str, Callable[[], Translate]] = {
        "ours": lambda: ours(size, sources, beam, "float32"),
        "ours int8": lambda: ours(size, sources, beam, "int8"),
        "hf": lambda: hugging_face(size, sources, beam),
        "ct2": lambda: ctranslate(size, sources, beam, "float32", threads),
        "ct2 int8": lambda: ctranslate(size, sources, beam, "int8", threads),
    }
    return {name: makers[name]() for name in names}


def agreement(size: str, beam: int, threads: int, names: Sequence[str]) -> None:
    """How many of the tokens are those of our float32 search; nobody may write another number of them."""
    texts = {name: torch.tensor(run()) for name, run in build(size, BATCH, beam, threads, ("ours", *names)).items()}
    for name in names:
        assert texts[name].shape == (BATCH, WRITTEN), f"{name} wrote {tuple(texts[name].shape)}"
        same = float((texts[name] == texts["ours"]).float().mean())
        print(f"{'':38} {name}: {same:.1%} of the tokens as ours in float32", flush=True)


def where_the_time_goes(size: str, beam: int, precision: Any) -> None:
    """The shares of products, attention and softmax in our time; the rest is norms, sums, candidates and Python."""
    run = ours(size, sentences(BATCH), beam, precision)
    run()
    profile = cProfile.Profile()
    profile.enable()
    run()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    spent = {key[2].removesuffix("_threads"): value[2] for key, value in stats.stats.items()}
    parts = {
        "layers": ("layer_steps",),
        "products": ("product", "round_rows"),
        "attention": ("beams_forward",),
        "softmax": ("log_totals",),
    }
    shares = {name: sum(spent.get(one, 0.0) for one in given) / stats.total_tt for name, given in parts.items()}
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    print(f"{'':38} {precision}: {told}, the rest {1 - sum(shares.values()):.0%}", flush=True)


def work(size: str, sources: list[list[int]], beam: int) -> float:
    """Billions of operations in products: the reader, and keys and values of it, once; the writer for every token."""
    config = config_of(size)
    width, hidden, layers = config.hidden_size, config.intermediate_size, config.encoder_layers
    network = 2 * width * hidden
    read = layers * (6 * width**2 + network)
    written = layers * (6 * width**2 + network) + width * VOCABULARY.size
    return 2e-9 * (sum(map(len, sources)) * read + len(sources) * WRITTEN * beam * written)


def main() -> None:
    """Greedy and beam 5, each in float32 and with 8-bit weights."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "", cases=True)
    report, rounds, count = Report(), 1 if options.quick else 3, BATCH if options.quick else 4 * BATCH
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    for name in PEERS.keys() - set(peers):
        print(f"{name} is left out: {PEERS[name]} is not installed")
    for size, beam in itertools.product(SIZES, (1, 5)):
        case = f"{size} greedy" if beam == 1 else f"{size} beam {beam}"
        if not case.startswith(options.only):
            continue
        made = functools.partial(build, size, count, beam, options.threads)
        times = apart(made, peers, ("ours", "ours int8"), rounds, options.threads)
        plain = [name for name in times if not name.endswith("int8")]
        report.case(case, {name: times[name] for name in plain})
        report.case(f"{case} int8", {name: times[name] for name in times if name.endswith("int8")}, "ours int8")
        for name, taken in times.items():
            middle = statistics.median(taken)
            rate = f"{work(size, sentences(count), beam) / middle:.0f} GFLOP/s of products in all its time"
            print(f"{'':38} {name}: {count / middle:.1f} sentences per second, {rate}", flush=True)
        if not options.quick:
            agreement(size, beam, options.threads, [*peers, "ours int8"])
            for precision in ("float32", "int8"):
                where_the_time_goes(size, beam, precision)
    report.close(options.json)


if __name__ == "__main__":
    main()
