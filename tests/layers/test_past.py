"""What hypotheses have behind them: rows stay where they are, older states stay right, a selection reorders."""

import torch
from torch import Tensor

from saccade.attention import causal
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.past import Past, Pool
from saccade.layers.transformer import SelfAttention


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
    following = past.with_step(pool.used)
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
        shared = Past.none(1).with_step(0)
        first = layer.step(x[:, :1], shared, pools).output
        for name, order in texts.items():
            past, outputs = shared, [first]
            for place in order[1:]:
                past = past.with_step(pools.key.used)
                outputs.append(layer.step(x[:, place, None], past, pools).output)
            found[name] = torch.cat(outputs, 1)
    assert not torch.equal(wanted["one"], wanted["other"])
    for name, output in found.items():
        torch.testing.assert_close(output, wanted[name], atol=1e-6, rtol=1e-5)
