"""The figure of kernel regression: well-formed, self-contained, small, and complete."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays

from saccade.view.charts.kernel_regression import kernel_regression
from saccade.view.drawings import heatmap
from saccade.view.output.scales import Floats

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{NAMESPACE}text")]


def all_numbers_are_finite(picture: str) -> bool:
    values = (value for element in ElementTree.fromstring(picture).iter() for value in element.attrib.values())
    return not any("nan" in value or "inf" in value for value in values)


def regression(points: int = 50, queries: int = 60) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    generator = np.random.default_rng(0)
    x = generator.uniform(0, 5, points)
    y = np.sin(x) + generator.normal(size=points)
    query = np.linspace(0, 5, queries)
    weights = np.exp(-8 * (query[:, None] - x) ** 2)
    weights /= weights.sum(1, keepdims=True)
    return x, y, query, weights @ y, weights


def test_figures_need_nothing_else() -> None:
    for picture in (heatmap.svg(np.eye(3)), kernel_regression(*regression())):
        assert picture.count("http") == 1  # the namespace
        assert not any(word in picture for word in ("<script", "<image", "@import", "url(", "href"))


def test_a_dense_heatmap_stays_small() -> None:
    assert len(heatmap.svg(np.random.default_rng(0).random((60, 60)))) < 150_000
    assert len(kernel_regression(*regression())) < 150_000
    assert len(heatmap.svg(np.random.default_rng(0).random((1000, 1000)))) < 500_000


@given(*[arrays.arrays(np.float64, shape) for shape in (5, 5, 4, 4, 4, (4, 5))])
def test_any_regression_gives_well_formed_xml(
    x: Floats, y: Floats, query: Floats, line: Floats, truth: Floats, weights: Floats
) -> None:
    assert all_numbers_are_finite(kernel_regression(x, y, query, line, weights, truth=truth))


def test_regression_shows_points_curves_and_weights() -> None:
    x, y, query, line, weights = regression()
    picture = kernel_regression(x, y, query, line, weights, truth=np.sin(query), query=12, title="A & B")
    root = ElementTree.fromstring(picture)
    assert len(root.findall(f".//{NAMESPACE}circle")) == 50 + 2  # the query, and one in the key
    assert {"A & B", "fit", "truth", "query x", "the weights of one query, x = 1.02"} <= set(texts(picture))
    assert "truth" not in texts(kernel_regression(x, y, query, line, weights))


def test_regression_is_sorted_by_x() -> None:
    x, y, query, line, weights = regression()
    keys, queries = np.argsort(x), np.arange(60)[::-1]
    shuffled = kernel_regression(x, y, query[queries], line[queries], weights[queries], query=59 - 20)
    ordered = kernel_regression(x[keys], y[keys], query, line, weights[:, keys], query=20)
    assert shuffled == ordered


def test_regression_survives_what_is_not_a_number() -> None:
    x, y, query, line, weights = regression(10, 12)
    y[3], x[4], line[6], weights[6] = np.nan, np.inf, np.nan, np.nan
    picture = kernel_regression(x, y, query, line, weights)
    assert all_numbers_are_finite(picture)
    assert "gray: NaN" in texts(picture)


def test_regression_refuses_what_does_not_fit() -> None:
    x, y, query, line, weights = regression(10, 12)
    with pytest.raises(ValueError, match=r"expected weights of shape \(12, 10\), got \(10, 12\)"):
        kernel_regression(x, y, query, line, weights.T)
    with pytest.raises(ValueError, match="expected a query between 0 and 11, got 12"):
        kernel_regression(x, y, query, line, weights, query=12)
