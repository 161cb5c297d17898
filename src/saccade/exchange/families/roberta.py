"""RoBERTa (Liu et al. 2019) as Hugging Face's classes `Roberta…` store it, with any of their heads, or none.

Positions begin behind the padding's id; a label is made by a dense layer of its own, which is our pooler.
"""

from saccade.exchange import encoder_tokenizers
from saccade.exchange.encoder_family import EncoderFamily
from saccade.exchange.families import Needs
from saccade.exchange.layouts import TensorLayout

SYSTEM, ARCHITECTURE = "roberta", "RobertaForMaskedLM"
NEEDS: Needs = {SYSTEM: {}}
LAYOUTS: dict[str, TensorLayout] = {}
FAMILY = EncoderFamily(
    SYSTEM,
    "roberta.",
    "Roberta",
    {
        "masked.transform.": "lm_head.dense.",
        "masked.norm.": "lm_head.layer_norm.",
        "masked.bias": "lm_head.bias",
        "pooler.": "classifier.dense.",
        "label_output.": "classifier.out_proj.",
        "tag_output.": "classifier.",
        "span_output.": "qa_outputs.",
    },
    (("lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight"), ("lm_head.decoder.bias", "lm_head.bias")),
    encoder_tokenizers.roberta,
    double_separator=True,
)
read, write, tensor_names, is_computed = FAMILY.read, FAMILY.write, FAMILY.tensor_names, FAMILY.is_computed


def tensor_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of one of our parameters there, which is its own."""
    return shape
