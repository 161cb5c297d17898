"""The table is what the lecture prints, and each row says why it differs from our count."""

import re

import pytest

from saccade.planning.amounts import UNITS
from saccade.planning.models import MODELS

ROWS = [model.row() for model in MODELS.values()]


def test_the_printed_table() -> None:
    keys = ("layers", "width", "printed_heads", "printed_parameters", "data")
    assert [tuple(row[key] for key in keys) for row in ROWS] == [
        (12, 512, "8", "65M", ""),
        (12, 1024, "16", "213M", ""),
        (12, 768, "12", "110M", "13 GB"),
        (24, 1024, "16", "340M", "13 GB"),
        (24, 1024, "16", "~340M", "126 GB"),
        (24, 1024, "16", "355M", "160 GB"),
        (12, 768, "?", "117M", "40 GB"),
        (24, 1024, "?", "345M", "40 GB"),
        (36, 1280, "?", "762M", "40 GB"),
        (48, 1600, "?", "1.5B", "40 GB"),
        (40, 1536, "16", "1.2B", "174 GB"),
        (54, 1920, "20", "2.5B", "174 GB"),
        (64, 2304, "24", "4.2B", "174 GB"),
        (72, 3072, "32", "8.3B", "174 GB"),
    ]
    assert [row["training"] for row in ROWS][-1] == "512x V100 GPU (9 days)"
    assert [row["heads"] for row in ROWS if row["printed_heads"] == "?"] == [12, 16, 20, 25]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_counts_are_near_what_is_printed(row: dict[str, object]) -> None:
    """Within 7 %, the paper's miscount of GPT-2; and heads divide the width."""
    found = re.fullmatch(r"~?([\d.]+)([MB])", str(row["printed_parameters"]))
    assert found
    printed = float(found[1]) * UNITS[found[2].lower()]
    assert row["parameters"] == pytest.approx(printed, rel=0.07)
    assert row["difference"]
    assert MODELS[str(row["name"])].shape.width % MODELS[str(row["name"])].shape.heads == 0
