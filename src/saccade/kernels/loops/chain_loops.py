"""The compiled loops of a linear chain of yes and no, in Numba; imported at first use by `saccade.kernels.runtime`.

Messages are odds, not their logarithms: what a member hears from one side is (a + b x) / (c + d x) of the neighbor's odds x.
Odds of 0 stand for a member that is not there.
"""

from saccade.kernels.loops.jit import kernel, part, share_out

_ROWS = 16  # of a task


@part(error_model="numpy")
def _heard(odds, no_no, no_yes, yes_no, yes_yes):
    """What the neighbor's odds say of a member."""
    return (no_yes + yes_yes * odds) / (no_no + yes_no * odds)


@part(error_model="numpy")
def _slope(odds, no_no, no_yes, yes_no, yes_yes):
    """How the logarithm of what is heard changes with that of the neighbor's odds."""
    return odds * (yes_yes / (no_yes + yes_yes * odds) - yes_no / (no_no + yes_no * odds))


@part(error_model="numpy")
def _forward_rows(task, odds, begins, powers, before, after, marginals):
    no_no, no_yes, yes_no, yes_yes = powers[0, 0], powers[0, 1], powers[1, 0], powers[1, 1]
    K = odds.shape[1]
    for row in range(task * _ROWS, min((task + 1) * _ROWS, odds.shape[0])):
        message, linked = 0.0, False
        for k in range(K):
            linked = linked and not begins[k]
            own = odds[row, k]
            if own > 0:
                message = own * _heard(message, no_no, no_yes, yes_no, yes_yes) if linked else own
                linked = True
            before[row, k] = message if own > 0 else 0.0
        message, linked = 0.0, False
        for k in range(K - 1, -1, -1):
            own = odds[row, k]
            if own > 0:
                told = _heard(message, no_no, yes_no, no_yes, yes_yes) if linked else 1.0
                both = before[row, k] * told
                marginals[row, k] = both / (1.0 + both) if both < 1.0 else 1.0 / (1.0 + 1.0 / both)
                message, linked = own * told, True
            else:
                marginals[row, k] = 0.0
            after[row, k] = message if own > 0 else 0.0
            linked = linked and not begins[k]


@part(error_model="numpy")
def _backward_rows(task, odds, begins, powers, before, after, marginals, along, pulls, pairs):
    no_no, no_yes, yes_no, yes_yes = powers[0, 0], powers[0, 1], powers[1, 0], powers[1, 1]
    K = odds.shape[1]
    for row in range(task * _ROWS, min((task + 1) * _ROWS, odds.shape[0])):
        # From the right: how log `after` of each member changes along the direction; kept in `pulls`.
        change, last = 0.0, -1
        for k in range(K - 1, -1, -1):
            pulls[row, k] = 0.0
            if odds[row, k] > 0:
                heard = _slope(after[row, last], no_no, yes_no, no_yes, yes_yes) * change if last >= 0 else 0.0
                change = along[row, k] + heard
                pulls[row, k], last = change, k
            if begins[k]:
                last = -1
        # From the left the same, and of each two neighbors how the chance of their four states changes.
        change, last = 0.0, -1
        for k in range(K):
            if begins[k]:
                last = -1
            if odds[row, k] > 0:
                right = pulls[row, k]
                heard = 0.0
                if last >= 0:
                    x, m = before[row, last], after[row, k]
                    one, two, three, four = no_no, no_yes * m, yes_no * x, yes_yes * x * m
                    total = one + two + three + four
                    one, two, three, four = one / total, two / total, three / total, four / total
                    mean = two * right + three * change + four * (change + right)
                    pairs[row, 0, 0] -= one * mean
                    pairs[row, 0, 1] += two * (right - mean)
                    pairs[row, 1, 0] += three * (change - mean)
                    pairs[row, 1, 1] += four * (change + right - mean)
                    heard = _slope(x, no_no, no_yes, yes_no, yes_yes) * change
                share = marginals[row, k]
                pulls[row, k] = share * (1.0 - share) * (heard + right)
                change, last = along[row, k] + heard, k


@kernel
def chain_forward(team, odds, begins, powers, before, after, marginals):
    """Odds of each member by what stands before it, and by what stands after it, and its marginal."""
    tasks = (odds.shape[0] + _ROWS - 1) // _ROWS
    share_out(_forward_rows, tasks, team, (odds, begins, powers, before, after, marginals))


@kernel
def chain_backward(team, odds, begins, powers, before, after, marginals, along, pulls, pairs):
    """How marginals change along a direction, and so the sum of them for each transition."""
    tasks = (odds.shape[0] + _ROWS - 1) // _ROWS
    share_out(_backward_rows, tasks, team, (odds, begins, powers, before, after, marginals, along, pulls, pairs))
