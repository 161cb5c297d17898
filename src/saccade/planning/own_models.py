"""The architecture of one's own config, where the system is a Transformer that is counted in closed form."""

from typing import Any

from saccade.errors import UsageError
from saccade.planning.architectures import Architecture


def architecture_of(settings: Any) -> Architecture:
    """Sizes of the `gpt2` or `transformer` of these settings; its vocabulary is as large as tokens.size allows."""
    if settings.system == "gpt2":
        return _gpt2(settings)
    if settings.system == "transformer" and settings.model.mixer == "attention":
        return _transformer(settings)
    what = f"devices: expected a model by name, gpt2 or a transformer of attention, got {settings.system}"
    raise UsageError(f"{what}; leave devices out to measure it on this machine")


def context_of(settings: Any) -> int:
    """Tokens of a sequence: the context of gpt2; of a transformer, whose texts differ, none is known."""
    return int(getattr(settings.writer, "context_length", 0))


def _gpt2(settings: Any) -> Architecture:
    model = settings.model
    return Architecture(
        kind="decoder",
        layers=model.num_layers,
        width=model.hidden_size,
        heads=model.num_heads,
        inner=4 * model.hidden_size,
        vocabulary=settings.tokens.size,
        positions=settings.writer.context_length,
        final_norms=1,
    )


def _transformer(settings: Any) -> Architecture:
    model = settings.model
    if model.embeddings != "one":
        raise UsageError(f"model.embeddings: expected one for a plan on other devices, got {model.embeddings}")
    learned = model.positions == "learned"
    return Architecture(
        kind="encoder-decoder",
        layers=model.encoder_layers,
        decoder_layers=model.decoder_layers,
        width=model.hidden_size,
        heads=model.num_heads,
        inner=model.intermediate_size,
        vocabulary=settings.tokens.size,
        positions=model.max_positions if learned else 0,
        final_norms=2 * model.ends_with_norm,
    )
