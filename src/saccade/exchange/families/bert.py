"""BERT (Devlin et al. 2018) as Hugging Face's classes `Bert…` store it, with any of their heads, or none.

`BertForPreTraining` and `BertForMaskedLM` fill in tokens, `BertForSequenceClassification` labels texts and pairs,
`BertForTokenClassification` words, `BertForQuestionAnswering` answers; `BertModel`, also that of sentence-transformers,
makes vectors.
"""

from saccade.exchange import encoder_tokenizers
from saccade.exchange.encoder_family import EncoderFamily
from saccade.exchange.families import Needs
from saccade.exchange.layouts import TensorLayout

SYSTEM, ARCHITECTURE = "bert", "BertForPreTraining"
NEEDS: Needs = {SYSTEM: {}}
LAYOUTS: dict[str, TensorLayout] = {}
FAMILY = EncoderFamily(
    SYSTEM,
    "bert.",
    "Bert",
    {
        "masked.transform.": "cls.predictions.transform.dense.",
        "masked.norm.": "cls.predictions.transform.LayerNorm.",
        "masked.bias": "cls.predictions.bias",
        "following.": "cls.seq_relationship.",
        "label_output.": "classifier.",
        "tag_output.": "classifier.",
        "span_output.": "qa_outputs.",
    },
    (
        ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
        ("cls.predictions.decoder.bias", "cls.predictions.bias"),
    ),
    encoder_tokenizers.bert,
)
read, write, tensor_names, is_computed = FAMILY.read, FAMILY.write, FAMILY.tensor_names, FAMILY.is_computed


def tensor_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of one of our parameters there, which is its own."""
    return shape
