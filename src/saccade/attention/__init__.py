"""The attention operator: score → mask → normalize → pool, on rectangles and on edges.

Letters: B batch, H heads, Q queries, K keys, D width, V vocabulary (or width of values), N nodes, E edges, T steps.
"""

from saccade.attention.attended import Attended
from saccade.attention.edges import AttendedEdges, attend_edges, bags
from saccade.attention.gated import Gated, gate
from saccade.attention.groups import Group, Rows, Segments
from saccade.attention.local import PredictedCenter, local_m, local_p
from saccade.attention.looks import Looks, looking
from saccade.attention.masks import MASKS, Causal, Mask, allow, causal, fixed, lengths, others, strided, window
from saccade.attention.normalizers import (
    NORMALIZERS,
    Chain,
    ChainMean,
    Entmax,
    Entmax15,
    Hard,
    Kernel,
    Normalizer,
    Softmax,
    Sparsemax,
    StraightThrough,
    Unnormalized,
    make_normalizer,
)
from saccade.attention.operator import attend
from saccade.attention.pair_positions import Positions
from saccade.attention.score import Fold, Prepared, Score
from saccade.attention.scores import (
    SCORES,
    Additive,
    Biased,
    Concat,
    Cosine,
    Dot,
    General,
    LeakyConcat,
    Location,
    Perceptron,
    RelativeBias,
    ScaledDot,
    make_score,
)
from saccade.attention.smoothers import Boxcar, Constant, Epanechnikov, Gaussian
from saccade.kernels.edge_lists import Graph

__all__ = [
    "MASKS",
    "NORMALIZERS",
    "SCORES",
    "Additive",
    "Attended",
    "AttendedEdges",
    "Biased",
    "Boxcar",
    "Causal",
    "Chain",
    "ChainMean",
    "Concat",
    "Constant",
    "Cosine",
    "Dot",
    "Entmax",
    "Entmax15",
    "Epanechnikov",
    "Fold",
    "Gated",
    "Gaussian",
    "General",
    "Graph",
    "Group",
    "Hard",
    "Kernel",
    "LeakyConcat",
    "Location",
    "Looks",
    "Mask",
    "Normalizer",
    "Perceptron",
    "Positions",
    "PredictedCenter",
    "Prepared",
    "RelativeBias",
    "Rows",
    "ScaledDot",
    "Score",
    "Segments",
    "Softmax",
    "Sparsemax",
    "StraightThrough",
    "Unnormalized",
    "allow",
    "attend",
    "attend_edges",
    "bags",
    "causal",
    "fixed",
    "gate",
    "lengths",
    "local_m",
    "local_p",
    "looking",
    "make_normalizer",
    "make_score",
    "others",
    "strided",
    "window",
]
