"""The operator's edges: shapes, dropout, bias, prepared keys, looking, memory."""

import gc
import math
import subprocess
import sys
from typing import Any

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import (
    SCORES,
    Additive,
    Attended,
    Biased,
    Entmax,
    Gaussian,
    Mask,
    RelativeBias,
    ScaledDot,
    Score,
    allow,
    attend,
    attend_edges,
    bags,
    causal,
    lengths,
    looking,
    window,
)
from saccade.attention.fused import drop
from saccade.attention.masks import Lengths
from saccade.errors import SaccadeError, ShapeError, UnknownName
from saccade.layers import MultiHeadAttention
from tests.attention.traced import COMPILED, TRACED
from tests.second_device import on_cpu, on_device, second_device


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("length", [5, 300])
@pytest.mark.parametrize("width", [2, 4, 7])
def test_any_leading_dimensions_and_widths(leading: tuple[int, ...], length: int, width: int) -> None:
    query, key = torch.randn(*leading, length, 4), torch.randn(*leading, length, 4)
    value = torch.randn(*leading, length, width)
    expected = torch.softmax(query @ key.mT / 2, -1) @ value
    torch.testing.assert_close(attend(query, key, value).context, expected, atol=1e-5, rtol=1e-4)


def test_leading_dimensions_broadcast() -> None:
    query, key, value = torch.randn(3, 1, 2, 4), torch.randn(5, 6, 4), torch.randn(6, 7)
    context = attend(query, key, value, mask=lengths(torch.tensor([2, 6, 0]))).context
    assert context.shape == (3, 5, 2, 7)
    torch.testing.assert_close(context[0, 2], attend(query[0, 0], key[2, :2], value[:2]).context)
    assert (context[2] == 0).all()


def test_no_keys_give_zeros() -> None:
    assert torch.equal(attend(torch.randn(3, 4), torch.randn(0, 4), torch.randn(0, 2)).context, torch.zeros(3, 2))
    assert attend(torch.randn(0, 4), torch.randn(3, 4), torch.randn(3, 2)).context.shape == (0, 2)
    assert attend(torch.randn(3, 4), torch.randn(0, 4), torch.randn(0, 2)).weights().shape == (3, 0)


def test_errors_say_what_came() -> None:
    x = torch.randn(3, 4)
    with pytest.raises(ShapeError, match="one width, got 4 and 5"):
        attend(x, torch.randn(3, 5), x)
    with pytest.raises(ShapeError, match="must broadcast"):
        attend(torch.randn(2, 3, 4), torch.randn(5, 3, 4), torch.randn(5, 3, 4))
    with pytest.raises(ShapeError, match=r"pass a module, Additive\(…\)"):
        attend(x, x, x, score="additive")
    with pytest.raises(UnknownName, match="did you mean 'gaussian'"):
        attend(x, x, x, score="gausian")
    with pytest.raises(ShapeError, match="outside 0 … 2"):
        attend(x, x, x).weights(rows=3)
    with pytest.raises(ShapeError, match="targets 0 … 7 of 3 queries"):
        attend_edges(x, x, x, torch.tensor([[0, 1], [0, 7]]))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"value": torch.randn(2, 4)}, "3 keys and 2 values"),
    ({"query": torch.ones(3, 4, dtype=torch.long)}, "query must be a tensor of floating-point numbers, got torch.int64"),
    ({"key": torch.randn(3, 4).numpy()}, "key must be a tensor of floating-point numbers, got ndarray"),
    ({"value": torch.randn(3, 4).double()}, "one dtype, got torch.float32, torch.float32 and torch.float64"),
    ({"mask": torch.ones(3, 3, dtype=torch.bool)}, r"allow\(boolean tensor\), got Tensor"),
    ({"query": torch.randn(4)}, "at least two dimensions"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_inputs_are_refused_in_one_line(wrong: dict[str, Any], message: str) -> None:
    x = torch.randn(3, 4)
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with pytest.raises(ShapeError, match=message) as caught:
            attend(**{"query": x, "key": x, "value": x, **wrong})
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    assert "\n" not in str(caught.value)


def test_dropout_keeps_the_mean_and_hides_nothing() -> None:
    torch.manual_seed(0)
    kept = drop(torch.ones(1000, 997), 0.3)
    assert kept.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert kept.mean().item() == pytest.approx(1, abs=0.005)
    assert max(kept.mean(0).std().item(), kept.mean(1).std().item()) < 0.03
    query, key, value = (torch.randn(4, 8, 16) for _ in range(3))
    dropped = attend(query, key, value, dropout=0.5)
    assert not torch.allclose(dropped.context, attend(query, key, value).context)
    assert torch.equal(dropped.weights(), attend(query, key, value).weights())
    assert (attend(query, key, value, dropout=1.0).context == 0).all()


def test_bias_is_added_for_each_head() -> None:
    bias = RelativeBias(3, heads=2)
    score = Biased(ScaledDot(), bias)
    query, key, value = (torch.randn(2, 2, n, 4) for n in (3, 7, 7))
    distance = (torch.arange(7) - torch.arange(4, 7)[:, None]).clamp(-3, 3) + 3
    expected = torch.softmax(query @ key.mT / 2 + bias.table[:, distance], -1)
    attended = attend(query, key, value, score=score)
    torch.testing.assert_close(attended.context, expected @ value)
    torch.testing.assert_close(attended.weights(heads=1, rows=[2]), expected[:, 1:, 2:])
    attended.context.sum().backward()
    assert bias.table.grad is not None
    assert (bias.table.grad != 0).any()


def test_prepared_keys_are_projected_once() -> None:
    score = Additive(4, 4, 8)
    query, key, value = torch.randn(2, 1, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3)
    prepared = score.prepare(key)
    torch.testing.assert_close(
        attend(query, prepared, value, score=score).context, attend(query, key, value, score=score).context
    )
    key[0, 4] = torch.nan
    mask = lengths(torch.tensor([4, 5]))
    context = attend(query, score.prepare(key), value, score=score, mask=mask).context
    assert context.isfinite().all()
    assert attend(query, score.prepare(key), value, score=score).context[0].isnan().all()


def test_a_long_look_needs_little_memory() -> None:
    attended = attend(*(torch.randn(1, 8, 4096, 16) for _ in range(3)))
    weights = attended.weights(rows=[1, 4000], heads=3)
    assert weights.shape == (1, 1, 2, 4096)
    values, keys = attended.top(5, heads=3)
    assert values.shape == keys.shape == (1, 1, 4096, 5)
    torch.testing.assert_close(attended.mass(heads=3).sum(), torch.tensor(4096.0), atol=0.1, rtol=0)


class Reader(nn.Module):
    """Two layers, one of which looks twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = MultiHeadAttention(8, 2)
        self.rest = nn.ModuleList([MultiHeadAttention(8, 2)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.rest:
            x = layer(x) + layer(x)
        return attend(x, x, x).context


def test_looking_names_modules_and_leaves_no_trace() -> None:
    reader, x = Reader(), torch.randn(2, 5, 8)
    before = reader(x)
    with looking(reader) as looks:
        output = reader(x)
    assert torch.equal(before, output)
    assert {name: len(found) for name, found in looks.items()} == {"first": 1, "rest.0": 2, "": 1}
    first = looks["first"][0]
    assert isinstance(first, Attended)
    assert first.weights().shape == (2, 2, 5, 5)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in reader.modules())
    reader(x)
    assert len(looks["first"]) == 1


def test_looking_survives_an_error_inside() -> None:
    reader = Reader()
    with pytest.raises(RuntimeError), looking(reader):
        reader(torch.randn(2, 5, 7))
    assert not any(module._forward_hooks for module in reader.modules())
    with looking(reader) as looks:
        with pytest.raises(RuntimeError):
            reader(torch.randn(2, 5, 7))
        reader(torch.randn(2, 5, 8))
    assert set(looks) == {"first", "rest.0", ""}


def test_nothing_is_kept_after_looking() -> None:
    reader = Reader()
    with looking(reader):
        reader(torch.randn(2, 5, 8))
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is Attended]


def test_ragged_bags_are_padded_samples() -> None:
    sizes = torch.tensor([3, 1, 0, 4])
    query, key, value = torch.randn(4, 5), torch.randn(8, 5), torch.randn(8, 2)
    ragged = attend_edges(query, key, value, bags(sizes))
    first = 0
    for bag, size in enumerate(sizes.tolist()):
        alone = attend(query[bag : bag + 1], key[first : first + size], value[first : first + size])
        torch.testing.assert_close(ragged.context[bag : bag + 1], alone.context)
        first += size
    torch.testing.assert_close(ragged.mass().sum(), torch.tensor(3.0))
    assert ragged.entropy().shape == (4,)


def test_folding_a_gaussian_keeps_the_digits_far_from_zero() -> None:
    query, key, value = torch.rand(300, 2) + 1e3, torch.rand(300, 2) + 1e3, torch.randn(300, 1)
    padded = [F.pad(t, (0, 0, 0, 100), value=-1e6) for t in (key, value)]
    exact = attend(query.double(), key.double(), value.double(), score=Gaussian(0.2)).context
    torch.testing.assert_close(attend(query, key, value, score=Gaussian(0.2)).context.double(), exact, atol=3e-3, rtol=0)
    behind = attend(query, *padded, score=Gaussian(0.2), mask=lengths(torch.tensor(300))).context
    torch.testing.assert_close(behind.double(), exact, atol=3e-3, rtol=0)


class Manhattan(Score):
    """-|s - h|₁: a score that a researcher writes."""

    def pairs(self, query: Tensor, key: Tensor, at: object) -> Tensor:
        return -(query - key).abs().sum(-1)


def test_a_new_score_is_a_class_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registered and nothing else: the laws hold for it, and the documented list shows it."""
    from saccade.attention.catalog import catalog
    from tests.laws.cases import Draw, all_combinations, combinations
    from tests.laws.laws import LAWS, check, covered, trial_for

    before = len(all_combinations())
    monkeypatch.setitem(SCORES, "manhattan", Manhattan)
    assert "| `manhattan` | `Manhattan()` | -\\|s - h\\|₁: a score that a researcher writes. | blocks of rows |" in catalog()
    assert len(all_combinations()) == before + len(list(combinations("manhattan")))
    for law in LAWS:
        for combination in covered(law, ["manhattan"])[::4]:
            check(law, trial_for(law, combination, Draw(5, 3, 1).sizes(combination)))
    x = torch.randn(2, 300, 4)
    assert attend(x, x, x, score="manhattan", mask=window(5) & causal()).context.shape == (2, 300, 4)


def test_a_broken_score_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaking(Score):
        """Lets every pair see the mean of all keys, whatever the mask says."""

        def pairs(self, query: Tensor, key: Tensor, at: object) -> Tensor:
            return (query * key).sum(-1) + (query * key.mean(-2, keepdim=True)).sum(-1)

    from tests.laws.cases import Combination, Sizes, Trial
    from tests.laws.laws import check

    monkeypatch.setitem(SCORES, "leaking", Leaking)
    combination = Combination("leaking", "none", "causal", "rectangle", torch.float64)
    with pytest.raises(AssertionError):
        check("the_future_is_closed", Trial.make(combination, Sizes(1, 1, 4, 4, 3, seed=1)))


def test_nan_seen_by_some_is_told_by_their_weights() -> None:
    x = torch.randn(4, 3)
    x[2] = torch.nan
    attended = attend(torch.randn(4, 3), x, x, mask=allow(torch.ones(4, 4).tril().bool()))
    assert attended.weights().isnan().any(-1).tolist() == [False, False, True, True]


def test_what_was_made_for_another_is_refused() -> None:
    x = torch.randn(2, 3, 4)
    with pytest.raises(ShapeError, match=r"prepared by another score \(Additive\)"):
        attend(x, Additive(4, 4).prepare(x), x)
    with pytest.raises(ShapeError, match="Additive was not made for queries of width 4 and keys of width 4"):
        attend(x, x, x, score=Additive(4, 5))
    with pytest.raises(ShapeError, match=r"mask lengths\(1, 2, 3\) does not fit scores of 2 × 3 × 3"):
        attend(x, x, x, mask=lengths([1, 2, 3]))
    with pytest.raises(ShapeError, match=r"one for each sample is \(B, 1, Q, K\)"):
        MultiHeadAttention(4, 4)(x, mask=allow(torch.ones(2, 3, 3, dtype=torch.bool)))
    with pytest.raises(ShapeError, match="probability from 0 to 1, got 2"):
        attend(x, x, x, dropout=2.0)
    with pytest.raises(ShapeError, match="greater than 0, got 0"):
        Gaussian(0.0)
    with pytest.raises(SaccadeError, match="join masks with &"):
        causal() and window(2)


def test_repr_is_one_line() -> None:
    x = torch.randn(2, 3, 4)
    attended = attend(x, x, x, mask=causal())
    assert repr(attended) == "Attended(context=(2, 3, 4), keys=3, score=ScaledDot, normalize=Softmax, mask=causal)"
    assert "edges=5" in repr(attend_edges(x, x, x, torch.randint(3, (2, 5))))
    reader = Reader()
    with looking(reader) as looks:
        reader(torch.randn(2, 5, 8))
    assert repr(looks) == "Looks('first': 1, 'rest.0': 2, '': 1)"
    with pytest.raises(UnknownName, match="did you mean 'first'"):
        looks["frist"]


def test_nothing_at_all_is_fine() -> None:
    layer = MultiHeadAttention(8, 2)
    for sizes in ((0, 3, 8), (2, 0, 8)):
        assert layer(torch.randn(sizes)).shape == sizes


@pytest.mark.parametrize("part", ["query", "key", "value"])
@pytest.mark.parametrize("width", [3, 16])
def test_a_write_past_the_version_counter_is_seen(part: str, width: int) -> None:
    """`.data` is how many write into a tensor; autograd's counter does not move, so nothing may hang on it alone."""
    query, key, value = torch.randn(3, 2, 3, 4, width).unbind()
    mask = lengths(torch.tensor([2, 3]))
    before = attend(query, key, value, mask=mask).context
    assert bool(before.isfinite().all())
    written = {"query": query, "key": key, "value": value}[part].data
    written[0, 0, 3] = math.nan  # behind the mask, if it is a key or a value
    written[1, 1, 1] = math.nan
    after = attend(query, key, value, mask=mask).context
    seen = torch.zeros(2, 3, 4, dtype=torch.bool)
    if part == "query":
        seen[0, 0, 3] = seen[1, 1, 1] = True
    else:
        seen[1, 1] = True
    assert torch.equal(after.isnan().any(-1), seen)
    torch.testing.assert_close(after[~seen], before[~seen])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("part", ["query", "key"])
@pytest.mark.parametrize("mask", [None, causal()], ids=str)
@pytest.mark.parametrize("width", [8, 16, 64])
def test_a_context_is_finite_where_its_weights_are(bad: float, part: str, mask: Mask | None, width: int) -> None:
    """A layer that has diverged does not look healthy, whichever way is taken."""
    query, key, value = torch.randn(3, 2, 2, 5, width).unbind()
    {"query": query, "key": key}[part][1, 0, 2, 3] = bad
    looked = attend(query, key, value, mask=mask)
    healthy = looked.weights().isfinite().all(-1)
    assert torch.equal(looked.context.isfinite().all(-1), healthy)
    assert not bool(healthy[1, 0, 2]) or (part == "key" and bad == math.inf)
    assert bool(healthy[0].all())
    assert bool(healthy[1, 1].all())


@pytest.fixture(scope="module")
def compiled() -> dict[str, str]:
    """In a process of its own: dynamo does not take what checks shapes in signatures here."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.attention.traced"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.split("\t", 1) for line in lines)


@pytest.mark.parametrize("name", COMPILED)
def test_one_compiled_graph_gives_the_eager_output_and_gradients(compiled: dict[str, str], name: str) -> None:
    assert compiled[name] == "equal"


def test_a_compiled_graph_draws_dropout_anew(compiled: dict[str, str]) -> None:
    assert compiled["dropout"] == "anew"


@pytest.mark.parametrize("name", TRACED)
def test_an_exported_graph_gives_the_eager_output(name: str) -> None:
    """At sizes that were not known when it was exported, and with NaN in the padding."""
    module, inputs, other, sizes = TRACED[name]
    names = {size: torch.export.Dim(size) for given in sizes for size in given.values()}
    dynamic = tuple({place: names[size] for place, size in given.items()} for given in sizes)
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        graph = torch.export.export(module, inputs, dynamic_shapes=dynamic).module()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    for given in (inputs, other):
        torch.testing.assert_close(graph(*given), module(*given))


def test_a_graph_records_no_looks() -> None:
    module, inputs = TRACED["causal"][:2]
    with looking(module) as looks:
        torch.export.export(module, inputs)
    assert len(looks) == 0


def test_lengths_of_a_list_serve_any_device() -> None:
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    expected = attend(query, key, key, mask=lengths([2, 5]))
    with second_device(synchronize=False):
        found = attend(on_device(query), on_device(key), on_device(key), mask=lengths([2, 5]))
        weights = found.weights(rows=[2, 0])
    torch.testing.assert_close(on_cpu(found.context), expected.context)
    torch.testing.assert_close(on_cpu(weights), expected.weights(rows=[2, 0]))


@pytest.mark.parametrize("mask", [lengths([3, 6]), causal(), causal() & lengths([3, 6]), window(1)], ids=str)
@pytest.mark.parametrize("queries", [1, 4, 6, 8])
def test_nan_on_an_accelerator_reaches_those_who_see_it(mask: Mask, queries: int) -> None:
    """By the form without a question to the host, with more and fewer queries than keys; as on the CPU."""
    query, key, value = (torch.randn(2, n, 4) for n in (queries, 6, 6))
    query[0, queries // 2], key[0, 4], value[1, 2] = torch.nan, torch.inf, torch.nan
    expected = attend(query, key, value, mask=mask).context
    seen = mask.dense(queries, 6, leading=1).expand(2, queries, 6)
    spoiled = torch.zeros(2, 1, 6, dtype=torch.bool)
    spoiled[0, 0, 4] = spoiled[1, 0, 2] = True
    saw = (seen & spoiled).any(-1)
    saw[0, queries // 2] |= seen[0, queries // 2].any()
    assert torch.equal(expected.isnan().all(-1), saw)
    assert torch.equal(expected.isnan().any(-1), saw)
    with second_device(synchronize=False):
        moved = Lengths(on_device(mask.lengths)) if isinstance(mask, Lengths) else mask
        found = attend(on_device(query), on_device(key), on_device(value), mask=moved)
    torch.testing.assert_close(on_cpu(found.context), expected, equal_nan=True)


def test_long_sequences_on_an_accelerator() -> None:
    """Past the length at which torch's fused kernel is quicker, and with a mask in blocks."""
    query, key, value = torch.randn(3, 1, 2, 600, 8).unbind()
    for mask in (causal(), window(20), lengths([500])):
        expected = attend(query, key, value, mask=mask).context
        with second_device(synchronize=False):
            found = attend(on_device(query), on_device(key), on_device(value), mask=mask).context
        torch.testing.assert_close(on_cpu(found), expected)


def test_numbers_given_as_tensors_move_with_the_module() -> None:
    x, width = torch.randn(2, 5, 3), torch.tensor([0.5, 1.0, 2.0])
    score, normalize = Gaussian(width), Entmax(torch.tensor(1.4))
    expected = attend(x, x, x, score=score, normalize=normalize).context
    with second_device():
        moved = on_device(x)
        found = attend(moved, moved, moved, score=on_device(score), normalize=on_device(normalize)).context
    torch.testing.assert_close(on_cpu(found), expected)
    assert score.state_dict() == {}
