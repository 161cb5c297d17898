"""Published Transformers by name: as a well-known lecture prints them, their sizes, and how they were trained.

The table is that of J. Johnson, lecture 13 of EECS 498-007 (2019). Only what is printed is typed in; parameters are counted.
"""

from dataclasses import dataclass
from typing import Any

from saccade.planning.architectures import Architecture, total


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model was trained, as published; None where nobody has said."""

    devices: str | None = None
    tokens: float | None = None
    batch: int = 512
    "Sequences of a step."
    context: int = 1024
    precision: str = "mixed"
    recompute: bool | None = None
    code: str = ""
    "The code base, by its name in the table of rates."
    days: float | None = None
    "As the lecture prints it."
    sizes: str = "as published"
    "Where batch and context are from."
    assumed: tuple[str, ...] = ()
    "What of this is not published."


@dataclass(frozen=True, kw_only=True)
class ListedModel:
    """A row of the table."""

    name: str
    printed: str
    "What the lecture calls it."
    shape: Architecture
    parameters: str
    "As printed."
    heads: str = ""
    "As printed, where that is not the number of heads."
    data: str = ""
    training: str = ""
    difference: str
    "Why the count differs from what is printed."
    trained: Training

    def row(self) -> dict[str, Any]:
        """What `saccade models` tells of it."""
        shape = self.shape
        return {
            "name": self.name,
            "printed_name": self.printed,
            "layers": shape.layers + shape.written_layers,
            "width": shape.width,
            "heads": shape.heads,
            "printed_heads": self.heads or str(shape.heads),
            "vocabulary": shape.vocabulary,
            "parameters": total(shape),
            "printed_parameters": self.parameters,
            "data": self.data,
            "training": self.training,
            "difference": self.difference,
        }


def _transformer(
    name: str, printed: str, width: int, heads: int, count: str, training: str, steps: float, days: float
) -> ListedModel:
    shape = Architecture(
        kind="encoder-decoder",
        layers=6,
        width=width,
        heads=heads,
        inner=4 * width,
        vocabulary=37_000,
        final_norms=2,
    )
    assumed = ("as many source as target tokens; tokens are counted on one side",)
    trained = Training(
        devices="8xP100",
        tokens=steps * 25_000,
        batch=1000,
        context=25,
        precision="float32",
        recompute=False,
        code="tensor2tensor",
        days=days,
        sizes="for 25,000 tokens on each side of a step",
        assumed=assumed,
    )
    why = "6 + 6 layers; counted with the paper's shared 37,000 tokens: 65M and 213M cannot come from one vocabulary"
    return ListedModel(
        name=name, printed=printed, shape=shape, parameters=count, training=training, difference=why, trained=trained
    )


def _bert(size: str, layers: int, width: int, heads: int, count: str, chips: int) -> ListedModel:
    shape = Architecture(
        kind="encoder",
        layers=layers,
        width=width,
        heads=heads,
        inner=4 * width,
        vocabulary=30_522,
        positions=512,
        segments=2,
        embedding_norm=True,
        pooler=True,
        predicted=0.15,
    )
    trained = Training(
        devices=f"{chips}xTPU-v2",
        tokens=1e6 * 256 * (0.9 * 128 + 0.1 * 512),
        batch=256,
        context=128,
        recompute=False,
        code="bert",
        assumed=("contexts of 128 throughout; a tenth of the steps had 512",),
    )
    why = "uncased vocabulary, encoder and pooler, without the heads of pre-training"
    return ListedModel(
        name=f"bert-{size}",
        printed=f"BERT-{size.title()}",
        shape=shape,
        parameters=count,
        data="13 GB",
        difference=why if size == "base" else f"{why}; 340M is the paper's rounding",
        trained=trained,
    )


def _xlnet() -> ListedModel:
    shape = Architecture(kind="two-stream", layers=24, width=1024, heads=16, inner=4096, vocabulary=32_000)
    trained = Training(
        devices="512xTPU-v3",
        tokens=500e3 * 2048 * 512,
        batch=2048,
        context=512,
        recompute=False,
        code="xlnet",
        days=2.5,
        assumed=("both streams at all positions", "500k steps of 2,048 sequences; the final version had 8,192 in 5.5 days"),
    )
    return ListedModel(
        name="xlnet-large",
        printed="XLNet-Large",
        shape=shape,
        parameters="~340M",
        data="126 GB",
        training="512x TPU-v3 (2.5 days)",
        difference="BERT-Large's rounded count; XLNet has a map for relative positions in each layer",
        trained=trained,
    )


def _roberta() -> ListedModel:
    shape = Architecture(
        kind="encoder",
        layers=24,
        width=1024,
        heads=16,
        inner=4096,
        vocabulary=50_265,
        positions=514,
        segments=1,
        embedding_norm=True,
        pooler=True,
        predicted=0.15,
    )
    trained = Training(
        devices="1024xV100",
        tokens=100e3 * 8192 * 512,
        batch=8192,
        context=512,
        recompute=False,
        code="fairseq",
        days=1.0,
    )
    return ListedModel(
        name="roberta-large",
        printed="RoBERTa",
        shape=shape,
        parameters="355M",
        data="160 GB",
        training="1024x V100 GPU (1 day)",
        difference="equal, rounded; the day is that of 100k steps, the published model had 500k",
        trained=trained,
    )


def _decoder(layers: int, width: int, heads: int, vocabulary: int) -> Architecture:
    return Architecture(
        kind="decoder",
        layers=layers,
        width=width,
        heads=heads,
        inner=4 * width,
        vocabulary=vocabulary,
        positions=1024,
        final_norms=1,
    )


def _gpt2(size: str, layers: int, width: int, heads: int, count: str) -> ListedModel:
    miscount = "the paper's miscount, which its authors mended later" if count != "1.5B" else "rounded down"
    return ListedModel(
        name=f"gpt2-{size}",
        printed="GPT-2",
        shape=_decoder(layers, width, heads, 50_257),
        parameters=count,
        heads="?",
        data="40 GB",
        difference=f"{miscount}; 64 numbers a head give the heads",
        trained=Training(),
    )


def _megatron(layers: int, width: int, heads: int, count: str, devices: int, days: float | None = None) -> ListedModel:
    tokens = 300e3 * 512 * 1024
    trained = Training(devices=f"{devices}xV100", tokens=tokens, recompute=True, code="Megatron-LM", days=days)
    return ListedModel(
        name=f"megatron-{count.lower()}",
        printed="Megatron-LM",
        shape=_decoder(layers, width, heads, 51_200),
        parameters=count,
        data="174 GB",
        training=f"{devices}x V100 GPU" + ("" if days is None else f" ({days:g} days)"),
        difference="equal, rounded; the vocabulary is filled up to 51,200",
        trained=trained,
    )


MODELS = {
    model.name: model
    for model in (
        _transformer("transformer-base", "Transformer-Base", 512, 8, "65M", "8x P100 (12 hours)", 100e3, 0.5),
        _transformer("transformer-big", "Transformer-Large", 1024, 16, "213M", "8x P100 (3.5 days)", 300e3, 3.5),
        _bert("base", 12, 768, 12, "110M", 16),
        _bert("large", 24, 1024, 16, "340M", 64),
        _xlnet(),
        _roberta(),
        _gpt2("small", 12, 768, 12, "117M"),
        _gpt2("medium", 24, 1024, 16, "345M"),
        _gpt2("large", 36, 1280, 20, "762M"),
        _gpt2("xl", 48, 1600, 25, "1.5B"),
        _megatron(40, 1536, 16, "1.2B", 64),
        _megatron(54, 1920, 20, "2.5B", 128),
        _megatron(64, 2304, 24, "4.2B", 256, 10),
        _megatron(72, 3072, 32, "8.3B", 512, 9),
    )
}
