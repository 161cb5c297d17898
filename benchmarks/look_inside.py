"""Looking into a BERT and a GPT-2 of transformers: beside `output_attentions=True`, and beside what bertviz prepares.

python benchmarks/look_inside.py            bert-base and gpt2, 12 layers, at 2,048 tokens; a page of 96 tokens
python benchmarks/look_inside.py --quick    at most a minute: BERT with 4 layers

Models have random weights: nothing is downloaded. `output_attentions` gives all weights of all layers, which transformers
computes by its eager attention only. We keep what they are computed from; *rows* also computes the weights of all heads for
16 rows of each layer. Memory is the peak that one call adds, with what it gives; for this the C library is made to return
large blocks at once, because holes in its heap would add 0 to 400 MB by chance. bertviz makes its page from
`output_attentions` (at 2,048 tokens it would be gigabytes of text); ours holds all layers and heads, too.
"""

import ctypes
import importlib.util
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from kit import Report, Run, arguments, extra_megabytes, interleave

import saccade
from saccade.inside import looking

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
TOKENS, PAGE_TOKENS, ROWS = 2048, 96, list(range(0, 2048, 128))


def models(layers: int, names: Sequence[str]) -> dict[str, Any]:
    """Of these names, each in the two forms of its attention; both forms have the same parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers
    kinds: dict[str, tuple[Any, Any]] = {
        "bert": (transformers.BertModel, {"num_hidden_layers": layers, "max_position_embeddings": TOKENS}),
        "gpt2": (transformers.GPT2Model, {"n_layer": layers, "n_positions": TOKENS}),
    }
    found = {}
    for name in names:
        kind, sizes = kinds[name]
        forms = [
            kind._from_config(kind.config_class(**sizes), attn_implementation=form).eval() for form in ("sdpa", "eager")
        ]
        forms[1].load_state_dict(forms[0].state_dict())
        found[name] = forms
    return found


def runs(fused: Any, eager: Any, ids: torch.Tensor) -> dict[str, Run]:
    """Ours, ours with some rows, and transformers' own."""

    def ours() -> object:
        with torch.inference_mode(), looking(fused) as looks:
            return fused(ids), looks

    def rows() -> object:
        with torch.inference_mode(), looking(fused) as looks:
            output = fused(ids)
            return output, looks, [one.weights(rows=ROWS) for name in looks for one in looks[name]]  # type: ignore[call-arg]

    def plain() -> object:
        with torch.inference_mode():
            return fused(ids)

    def theirs() -> object:
        with torch.inference_mode():
            return eager(ids, output_attentions=True)

    return {"ours": ours, "ours, rows": rows, "output_attentions": theirs, "without looking": plain}


def bertviz() -> Any:
    """bertviz, or None; said in one line. It draws in IPython only, whose names are enough for what is measured."""
    if importlib.util.find_spec("bertviz") is None:
        print("bertviz is not installed: left out")
        return None
    if importlib.util.find_spec("IPython") is None:
        display: Any = types.ModuleType("IPython.display")
        display.display = print
        display.HTML = display.Javascript = lambda text: types.SimpleNamespace(data=text)
        sys.modules |= {"IPython": types.ModuleType("IPython"), "IPython.display": display}
    import bertviz

    return bertviz


class Numbers:
    """A tokenizer for ids alone."""

    unk_token_id = eos_token_id = None

    def __call__(self, ids: torch.Tensor, return_tensors: str) -> dict[str, torch.Tensor]:
        return {"input_ids": ids}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [f"w{number}" for number in ids]

    def get_vocab(self) -> dict[str, int]:
        return {}


def page(report: Report, fused: Any, eager: Any, rounds: int) -> None:
    """The page of one text."""
    library = bertviz()
    if library is None:
        return
    ids = torch.randint(1000, 2000, (1, PAGE_TOKENS))
    tokenizer = Numbers()

    def ours() -> object:
        return saccade.look(fused, tokenizer, ids)._repr_html_()

    def theirs() -> Any:
        with torch.no_grad():
            attention = eager(ids, output_attentions=True).attentions
        return library.head_view(attention, tokenizer.convert_ids_to_tokens(ids[0].tolist()), html_action="return")

    report.case(f"page of {PAGE_TOKENS} tokens", interleave({"ours": ours, "bertviz": theirs}, rounds, 0.5))
    sizes = {"ours": len(str(ours())), "bertviz": len(theirs().data)}
    text = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in sizes.items())
    report.value(f"page of {PAGE_TOKENS} tokens, size", "bertviz", sizes["bertviz"] / sizes["ours"], text)


def main() -> None:
    """All cases."""
    chosen = arguments(__doc__.splitlines()[0] if __doc__ else "")
    torch.set_num_threads(chosen.threads)
    torch.default_generator.manual_seed(0)
    report, rounds = Report(), 1 if chosen.quick else 3
    made = models(4 if chosen.quick else 12, ("bert",) if chosen.quick else ("bert", "gpt2"))
    ids = torch.randint(1000, 2000, (1, TOKENS))
    for name, (fused, eager) in made.items():
        own, case = runs(fused, eager, ids), f"{name}, {TOKENS:,} tokens"
        times = interleave(own, rounds, 0.0)
        rows = times.pop("ours, rows")
        report.case(case, times)
        report.case(f"{case}, 16 rows", {"ours": rows, "output_attentions": times["output_attentions"]})
    fused, eager = made["bert"]
    page(report, fused, eager, rounds)
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)  # last: it makes calls slower
    for name, (fused, eager) in made.items():
        own, case = runs(fused, eager, ids), f"{name}, {TOKENS:,} tokens"
        extra = {key: extra_megabytes(own[key]) for key in ("ours", "output_attentions", "without looking")}
        text = ", ".join(f"{key} {size:.0f} MB" for key, size in extra.items())
        for peer in ("output_attentions", "without looking"):
            report.value(f"{case}, memory", peer, extra[peer] / extra["ours"], text)
    report.close(chosen.json)


if __name__ == "__main__":
    main()
