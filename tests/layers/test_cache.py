"""What hypotheses have behind them: rows stay where they are, older states stay right, a selection reorders."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.attention import Mask, causal, lengths, make_score, window
from saccade.layers.cache import KeyValueCache, KeyValues, Past, Pool
from saccade.layers.convolution import Convolution
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.transformer_blocks import SelfAttention


def test_a_pool_that_grows_keeps_its_rows() -> None:
    pool, given, older = Pool(), [], []
    for count in (3, 250, 5, 300, 1, 2000):
        rows = torch.randn(count, 4)
        pool.append(rows)
        given.append(rows.clone())
        rows.zero_()  # what was appended is a copy
        assert torch.equal(pool.rows, torch.cat(given))
        assert pool.used == len(pool.rows)
        older.append(pool.rows)
    for number, rows in enumerate(older, 1):
        assert torch.equal(rows, torch.cat(given[:number]))


def test_room_is_doubled_not_made_anew_for_every_step() -> None:
    pool, rooms = Pool(), set()
    kept = []  # so that no address is used twice
    for _ in range(1000):
        pool.append(torch.zeros(2, 3))
        kept.append(pool.rows)
        rooms.add(pool.rows.data_ptr())
    assert len(rooms) <= 4


def behind(pool: Pool, past: Past) -> Tensor:
    return pool.rows[past.places.long()]


def stepped(pool: Pool, past: Past, rows: Tensor) -> Past:
    """One step more whose rows (B, W, D) go into the pool."""
    following = past.with_steps(pool.used)
    pool.append(rows.flatten(0, 1))
    return following


def test_an_older_past_stays_right_after_a_newer_one_stepped() -> None:
    pool, rows = Pool(), [torch.randn(3, 2, 4) for _ in range(4)]
    start = Past.none(3).select(torch.arange(3), torch.zeros(3, 2, dtype=torch.long))
    first = stepped(pool, start, rows[0])
    second = stepped(pool, first, rows[1])
    other = stepped(pool, first, rows[2])
    third = stepped(pool, other, rows[3])
    assert [past.steps for past in (start, first, second, other, third)] == [0, 1, 2, 2, 3]
    for past, numbers in ((first, [0]), (second, [0, 1]), (other, [0, 2]), (third, [0, 2, 3])):
        assert torch.equal(behind(pool, past), torch.stack([rows[number] for number in numbers], 2))
    assert torch.equal(behind(pool, third.last(2)), torch.stack(rows[2:], 2))


def test_a_selection_reorders_repeats_and_drops() -> None:
    pool, rows = Pool(), [torch.randn(3, 2, 4) for _ in range(3)]
    past = Past.none(3).select(torch.arange(3), torch.zeros(3, 2, dtype=torch.long))
    for step in rows:
        past = stepped(pool, past, step)
    inputs, hypotheses = torch.tensor([2, 0]), torch.tensor([[1, 1, 0], [0, 1, 1]])
    chosen = past.select(inputs, hypotheses)
    used = pool.used
    assert chosen.places.shape == (2, 3, 3)
    whole = torch.stack(rows, 2)
    for b, w in ((b, w) for b in range(2) for w in range(3)):
        assert torch.equal(behind(pool, chosen)[b, w], whole[inputs[b], hypotheses[b, w]])
    assert pool.used == used


def test_a_layer_that_went_on_can_go_on_again_from_before() -> None:
    """Two ways on from one state, in one pool, give what each gives alone."""
    layer = SelfAttention(MultiHeadAttention(8, 2), lambda counts: causal())
    x = torch.randn(1, 5, 8)
    texts = {"one": [0, 1, 2], "other": [0, 3, 4]}
    with torch.no_grad():
        wanted = {name: layer(x[:, order], None) for name, order in texts.items()}
        pools, found = layer.start(), {}
        shared = Past.none(1).with_steps(0)
        first = layer.step(x[:, :1], shared, pools).output
        for name, order in texts.items():
            past, outputs = shared, [first]
            for place in order[1:]:
                past = past.with_steps(pools.used)
                outputs.append(layer.step(x[:, place, None], past, pools).output)
            found[name] = torch.cat(outputs, 1)
    assert not torch.equal(wanted["one"], wanted["other"])
    for name, output in found.items():
        torch.testing.assert_close(output, wanted[name], atol=1e-6, rtol=1e-5)


def masked(mask: Mask) -> Callable[[Tensor | None], Mask]:
    return lambda counts: mask


def layers() -> dict[str, Any]:
    """Everything that mixes positions step by step."""
    made: dict[str, Any] = {}
    for score, mask in product(("scaled_dot", "additive", "cosine"), (causal(), causal() & window(2))):
        scored = make_score(score, query_width=4, key_width=4, keys=9)
        made[f"{score}, {mask}"] = SelfAttention(MultiHeadAttention(8, 2, score=scored), masked(mask))
    return made | {kind: Convolution(8, 2, 3, kind=kind, causal=True) for kind in ("light", "dynamic")}


@pytest.mark.parametrize("name", list(layers()))
@torch.no_grad()
def test_a_prompt_and_then_steps_of_several_hypotheses_give_what_the_whole_gives(name: str) -> None:
    layer, x = layers()[name], torch.randn(3, 4 + 2 * 3, 8)
    state = layer.start()
    past = Past.none(3).with_steps(state.used, 4)
    prompt = layer.step(x[:, :4], past, state)
    torch.testing.assert_close(prompt.output, layer(x[:, :4], None), atol=1e-5, rtol=1e-5)
    assert prompt.weights().shape == (3, 4, 2, 4)
    past = past.select(torch.arange(3), torch.zeros(3, 2, dtype=torch.long))
    for number in range(3):  # hypothesis w goes on with rows 4 + w, 6 + w, 8 + w
        past = past.with_steps(state.used)
        step = layer.step(x[:, 4 + 2 * number : 6 + 2 * number], past, state)
        for w in range(2):
            own = x[:, [0, 1, 2, 3, *range(4 + w, 6 + 2 * number, 2)]]
            torch.testing.assert_close(step.output[:, w], layer(own, None)[:, -1], atol=1e-5, rtol=1e-5)
        assert step.weights().shape == (3, 2, 2, 5 + number)


@pytest.mark.parametrize("name", list(layers()))
@torch.no_grad()
def test_a_prompt_may_come_in_pieces(name: str) -> None:
    layer, x = layers()[name], torch.randn(2, 7, 8)
    state, past, outputs, weights = layer.start(), Past.none(2), [], []
    for piece in x.split((3, 1, 3), 1):
        past = past.with_steps(state.used, piece.shape[1])
        step = layer.step(piece, past, state)
        outputs.append(step.output)
        weights.append(step.weights())
    torch.testing.assert_close(torch.cat(outputs, 1), layer(x, None), atol=1e-5, rtol=1e-5)
    for number, rows in zip((0, 3, 4), weights, strict=True):
        for t in range(rows.shape[1]):
            assert rows[:, t, :, number + t + 1 :].eq(0).all()  # nobody sees the future
            assert rows[:, t].sum(-1).gt(0).all()


@torch.no_grad()
def test_what_was_read_is_projected_once_and_shared() -> None:
    layer, source, x = MultiHeadAttention(8, 2, key_width=6, value_width=6), torch.randn(2, 7, 6), torch.randn(2, 3, 8)
    counts = torch.tensor([7, 4])
    key, value = layer.joint(layer.key_map, layer.value_map)(source)
    kept = KeyValues.of(key, value, counts)
    found = layer.look_at(layer.query_map(x), kept)
    torch.testing.assert_close(found.output, layer(x, source, mask=lengths(counts)), atol=1e-6, rtol=1e-5)
    other = layer.look_at(layer.query_map(x[[1]]), kept.select(torch.tensor([1])))
    torch.testing.assert_close(other.output, found.output[[1]], atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_old_weights_stay() -> None:
    layer, x, cache = MultiHeadAttention(8, 2), torch.randn(3, 4, 8), KeyValueCache()
    past = Past.none(3).with_steps(0, 4)
    first = layer.step(x, past, cache, mask=causal())
    before = first.weights().clone()
    past = past.select(torch.tensor([2, 0, 0]), torch.zeros(3, 1, dtype=torch.long)).with_steps(cache.used)
    new = torch.randn(3, 1, 8)
    second = layer.step(new, past, cache)
    torch.testing.assert_close(second.output, layer(new, torch.cat((x[[2, 0, 0]], new), 1)), atol=1e-6, rtol=1e-5)
    assert torch.equal(first.weights(), before)
