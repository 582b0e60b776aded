"""The laws of sets of labels, by their definition: the oracle of several tests."""

from itertools import combinations

import numpy as np


def of_sets(utility, k, epsilon, above):
    """P[the set of the k largest is s], for continuous noise with the tail `above`.

    By the value x of the lowest label of s, on a fine grid.
    """
    x = np.linspace(-40, 40, 160_001)
    exceeds = np.array([above(x - u) for u in utility])
    law = {}
    for s in combinations(range(len(utility)), k):
        rest = [i for i in range(len(utility)) if i not in s]
        below = np.prod(1 - exceeds[rest], axis=0) if rest else np.ones_like(x)
        inside = np.prod(exceeds[list(s)], axis=0)
        law[s] = float(-(np.diff(inside) * (below[1:] + below[:-1]) / 2).sum())
    return law


def staircase_tail(epsilon):
    z = np.arange(-42, 43)
    mass = np.exp(-epsilon * np.abs(z)) * np.tanh(epsilon / 2)
    knots = np.concatenate([z - 0.5, [z[-1] + 0.5]])
    tails = np.concatenate([[0], np.cumsum(mass[::-1])])[::-1]
    return lambda x: np.interp(x, knots, tails, left=1.0, right=0.0)


def exponential_tail(epsilon):
    return lambda x: np.exp(-epsilon * np.maximum(x, 0))
