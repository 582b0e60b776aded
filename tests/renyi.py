"""The least ρ of zCDP that a release has, by enumeration of its laws."""

import numpy as np

ALPHAS = (1.0001, 1.01, 1.1, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 200.0)
"""Orders of the Rényi divergences that are looked at; the proofs are for all of them."""


def least_rho(log_p, log_q):
    """The largest D_α / α over `ALPHAS` and both directions; laws are the last axis, logarithms."""
    found = 0.0
    for one, other in ((log_p, log_q), (log_q, log_p)):
        for alpha in ALPHAS:
            moments = np.logaddexp.reduce(alpha * one + (1 - alpha) * other, axis=-1)
            found = max(found, float(np.max(moments)) / (alpha * (alpha - 1)))
    return found


def least_rho_of(log_laws, universe):
    """The same over all neighbours of a universe, one row of logarithms per database."""
    left, right = universe.neighbours.T
    return least_rho(log_laws[left], log_laws[right])
