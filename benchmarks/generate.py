"""Greedy generation with a GPT-2 of the small published shape: tokens per second beside transformers and CTranslate2.

python benchmarks/generate.py            some minutes
python benchmarks/generate.py --quick    at most a minute: 32 new tokens, each once

The same random weights for all, 50,257 tokens, a prompt of 32 tokens, 128 new ones; the end is forbidden. One prompt, and
eight at once. Needs the extra `bench`; a peer that is not installed is left out, and said to be. llama.cpp is compared where
its Python module is installed; PyPI has it as source only, which takes a compiler and minutes. To write one token all
parameters but the positions are read once: the time that the memory alone needs for that is the limit, and its share is
printed.
"""

import functools
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Any

import torch
from kit import Report, apart, arguments

from saccade.data.tokenizers import learned_layout
from saccade.exchange.families.gpt2 import LAYOUTS, tensor_names
from saccade.exchange.layouts import stored_tensors
from saccade.layers.linear import at_rest
from saccade.search import Config as SearchConfig
from saccade.search import search
from saccade.systems.gpt2 import Config, Model

SIZE, CONTEXT, PROMPT, END = 50_257, 1024, 32, 2
PEERS = {"hf": "transformers", "ct2": "ctranslate2", "ct2 int8": "ctranslate2"}
BYTES = {"float32": 4.0, "int8": 1.0, "int4": 0.625}  # of a parameter, scales of groups included
Generate = Callable[[], list[list[int]]]


def prompts(count: int) -> list[list[int]]:
    torch.manual_seed(1)
    return torch.randint(10, SIZE, (count, PROMPT)).tolist()


@functools.cache
def model() -> Model:
    """The weights of all."""
    torch.manual_seed(0)
    return Model(Config(hidden_size=768, num_layers=12, num_heads=12), learned_layout(SIZE), CONTEXT).eval()


def ours(batch: int, new: int, precision: Any) -> Generate:
    """Our search."""
    made, context, given = model(), copy_context(), prompts(batch)
    context.run(at_rest(precision).__enter__)  # the weights are laid out once, as for a whole file
    config = SearchConfig(method="greedy", max_length=new)

    def generate() -> list[list[int]]:
        starts, rest = [row[0] for row in given], [row[1:] for row in given]
        where: dict[str, Any] = {"inputs": batch, "start": starts, "end": END, "banned": (0, 1), "context_length": CONTEXT}
        with torch.inference_mode():
            found = search(made, batch, config, prompts=rest, **where)
        return [best[0].tokens for best in found]

    return lambda: context.run(generate)


@functools.cache
def hugging_face_model() -> Any:
    """The same weights in Hugging Face's form."""
    import transformers

    transformers.logging.set_verbosity_error()
    made = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=SIZE, n_positions=CONTEXT))
    given = stored_tensors(model().state_dict(), LAYOUTS, lambda name: tensor_names(name)[0])
    missing = made.load_state_dict(given, strict=False)
    assert not missing.unexpected_keys, missing
    assert missing.missing_keys in ([], ["lm_head.weight"]), missing
    made.generation_config.eos_token_id, made.generation_config.pad_token_id = None, 0
    return made.eval()


def hugging_face(batch: int, new: int) -> Generate:
    """Their generate."""
    made, given = hugging_face_model(), torch.tensor(prompts(batch))

    def generate() -> list[list[int]]:
        with torch.inference_mode():
            mask = torch.ones_like(given)
            found = made.generate(given, attention_mask=mask, max_new_tokens=new, do_sample=False, use_cache=True)
        texts: list[list[int]] = found[:, PROMPT:].tolist()
        return texts

    return generate


class Names:
    """What CTranslate2's converter asks of a tokenizer: every token is named by its number."""

    bos_token = eos_token = unk_token = str(END)

    def get_vocab(self) -> dict[str, int]:
        return {str(number): number for number in range(SIZE)}


@functools.cache
def converted(precision: str) -> tempfile.TemporaryDirectory[str]:
    """A directory as CTranslate2 reads it."""
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_tokenizer(self, *_: Any, **__: Any) -> Names:
            return Names()

    folder = tempfile.TemporaryDirectory()
    hugging_face_model().save_pretrained(Path(folder.name) / "theirs")
    how = None if precision == "float32" else precision
    Converter(str(Path(folder.name) / "theirs")).convert(str(Path(folder.name) / "ct2"), quantization=how)
    return folder


def ctranslate(batch: int, new: int, precision: str, threads: int) -> Generate:
    """Their Generator."""
    import ctranslate2

    given = [[str(token) for token in row] for row in prompts(batch)]
    options = {"device": "cpu", "intra_threads": threads, "inter_threads": 1, "compute_type": precision}
    generator = ctranslate2.Generator(str(Path(converted(precision).name) / "ct2"), **options)
    how = {"max_length": new, "min_length": new, "beam_size": 1, "sampling_topk": 1, "include_prompt_in_result": False}

    def generate() -> list[list[int]]:
        return [list(found.sequences_ids[0]) for found in generator.generate_batch(given, **how)]

    return generate


def build(batch: int, new: int, threads: int, names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """The named ones."""
    makers: dict[str, Callable[[], Generate]] = {
        "ours": lambda: ours(batch, new, "float32"),
        "ours int8": lambda: ours(batch, new, "int8"),
        "ours int4": lambda: ours(batch, new, "int4"),
        "hf": lambda: hugging_face(batch, new),
        "ct2": lambda: ctranslate(batch, new, "float32", threads),
        "ct2 int8": lambda: ctranslate(batch, new, "int8", threads),
    }
    return {name: makers[name]() for name in names}


def agreement(batch: int, threads: int, names: Sequence[str]) -> None:
    """How many of the first tokens are those of our float32 search; nobody may write another number of them."""
    texts = {name: run() for name, run in build(batch, 16, threads, ("ours", *names)).items()}
    for name in names:
        found, wanted = torch.tensor(texts[name]), torch.tensor(texts["ours"])
        assert found.shape == wanted.shape == (batch, 16), f"{name} wrote {tuple(found.shape)}"
        print(f"{'':38} {name}: {float((found == wanted).float().mean()):.1%} of the tokens as ours in float32", flush=True)


def bandwidth(threads: int) -> float:
    """Bytes a second that the memory gives to one sum over half a gigabyte: the best of several."""
    torch.set_num_threads(threads)
    numbers, best = torch.zeros(2**27), 0.0
    for _ in range(8):
        started = time.perf_counter()
        numbers.sum()
        best = max(best, 4 * len(numbers) / (time.perf_counter() - started))
    return best


def main() -> None:
    """One prompt and eight, each in float32 and with rounded weights."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "", cases=True)
    report, rounds, new = Report(), 1 if options.quick else 5, 32 if options.quick else 128
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    for name in PEERS.keys() - set(peers):
        print(f"{name} is left out: {PEERS[name]} is not installed")
    most, read = bandwidth(options.threads), sum(p.numel() for p in model().parameters()) - CONTEXT * 768
    print(f"memory: {most / 1e9:.1f} GB/s, {read * 4e-6:.0f} MB of parameters are read for a token in float32")
    for batch in (1, 8):
        case, made = f"batch {batch}", functools.partial(build, batch, new, options.threads)
        if not case.startswith(options.only):
            continue
        times = apart(made, peers, ("ours", "ours int8", "ours int4"), rounds, options.threads)
        plain = [name for name in times if not name.endswith(("int8", "int4"))]
        report.case(case, {name: times[name] for name in plain})
        report.case(f"{case} int8", {name: times[name] for name in times if name.endswith("int8")}, "ours int8")
        for name, taken in times.items():
            form = name.split()[-1] if name.split()[-1] in BYTES else "float32"
            limit = most / (read * BYTES[form])
            rate = new / statistics.median(taken)
            share = f", {rate / limit:.0%} of what the memory allows" if batch == 1 else ""
            print(f"{'':38} {name}: {batch * rate:.1f} tokens per second{share}", flush=True)
        if not options.quick:
            agreement(batch, options.threads, [*peers, "ours int8", "ours int4"])
    report.close(options.json)


if __name__ == "__main__":
    main()
