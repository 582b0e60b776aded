"""Which category, and how much: a ranking with its noisy counts, a winner with its margin.

Add/remove one row; c_i counts the rows of category i, and a row is in one category.  ε pays for
names and numbers together.

**Several (`ranked`).**  All noisy counts c + Z, with independent integers, P(z) proportional to
exp(-ε |z|), are ε-DP (`dampen.questions.counts`), and with discrete Gaussian noise of variance
1/(2ρ) they are ρ-zCDP, which is what ρ buys.  Their order, ties by a random order that knows
nothing of the data, is computed from them: names cost nothing more, whatever k is.

**One (`winner`).**  E_i are independent integers >= 0, P(e) proportional to exp(-ε e), and π is a
random order.  Category i wins if c_i + E_i is the largest, ties by π.  The *margin* is

    γ = c_i + E_i - max over j != i of (c_j + E_j + [π puts j before i]) >= 0.

**Theorem.**  (i, γ) is ε-DP.  Proof.  It is enough to show it for every fixed π.  Let a = e^-ε and
let M be the maximum above, of which E_i is no part.  With T = M + g - c_i,
P(i, γ = g) = P(E_i = T) = (1-a) S, where S is the mean of a^T over T >= 0.

*A row more of j != i.*  T becomes T or T + 1, so that S becomes at least a S.  And a noise of e
then does what a noise of e + 1 did before, which has a times its probability: S becomes at most
S / a.

*A row more of i.*  Every T becomes T - 1.  With p(t) = P(T = t), S = Σ_{t >= 0} p(t) a^t becomes
S' = Σ_{t >= 1} p(t) a^(t-1) <= S / a.  The other way round S <= S' / a says that
p(0) <= (1 - a²) Σ_{t >= 1} p(t) a^(t-2), which follows from p(t) >= a^t p(0), since
Σ_{t >= 1} a^(2t-2) = 1 / (1 - a²).  And p(t+1) >= a p(t): raise the noise of the first j that
attains M by 1.  That costs a factor a, makes M larger by 1, and can be undone, for j alone attains
it then.  ∎

The plain gap c_i + E_i - max (c_j + E_j) with a fixed order of ties is *not* private: at a gap of 0
who wins tells who is before whom, and it loses 2ε.

**It is permute-and-flip.**  An exponential number is its whole part, which is E, and a fraction
that is independent of it.  Counts are whole, so comparing c + exponential is comparing c + E, ties
by independent fractions: a random order.  The name has exactly the law of `pf`.

**Intervals.**  Where all E_j <= B, the lead L = c_i - max over j != i of c_j is between γ - B and
γ + B + 1.  P(all E_j <= B) = (1 - a^(B+1))^m for m categories.  That holds for whoever wins.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dampen.core.sampling import LARGEST_SCALE, Entropy, geometric, random_order
from dampen.core.selection import IntArray, Neighbours
from dampen.errors import ParameterError
from dampen.releases.cost import Cost, Price, composed_cost
from dampen.releases.numbers import GAUSSIAN, LAPLACE, IntegerNoise, drawn_noise

__all__ = [
    "Ranked",
    "Winner",
    "check_scale",
    "noise_cost",
    "noise_for",
    "ranked",
    "winner",
    "with_noise",
]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The k categories with the largest noisy counts, best first, and all noisy counts."""

    places: list[int]
    numbers: IntArray


@dataclass(frozen=True, slots=True)
class Winner:
    """The category with the largest noisy count, and its margin."""

    place: int
    margin: int


def ranked(
    counts: IntArray, k: int, epsilon: Fraction, entropy: Entropy, noise: IntegerNoise = LAPLACE
) -> Ranked:
    """The k largest noisy counts, and all of them: ε-DP, or ε²/2-zCDP with Gaussian noise."""
    noisy: IntArray = counts + drawn_noise(noise, 1 / epsilon, len(counts), entropy)
    order = np.lexsort((random_order(len(counts), entropy), -noisy))
    return Ranked(order[:k].tolist(), noisy)


def winner(counts: IntArray, epsilon: Fraction, entropy: Entropy) -> Winner:
    """The largest noisy count by permute-and-flip, and its margin: ε-DP."""
    noisy: IntArray = counts + geometric(1 / epsilon, len(counts), entropy)
    return margin(noisy, random_order(len(counts), entropy))


def margin(noisy: IntArray, order: IntArray) -> Winner:
    """The winner and its margin, for noisy counts and an order of ties; the smaller one is first.

    Of one category alone the margin is its noisy count.
    """
    place = int(np.lexsort((order, -noisy))[0])
    others = noisy + (order < order[place])
    others = np.delete(others, place)
    return Winner(place, int(noisy[place] - (others.max() if len(others) else 0)))


def noise_for(price: Price) -> IntegerNoise:
    """Laplace noise for ε, Gaussian noise for ρ."""
    return LAPLACE if price.pure else GAUSSIAN


def noise_cost(price: Price, query: str, noise: IntegerNoise) -> Cost:
    """The cost of integer noise of scale Δ/ε: ε, or with Gaussian noise ρ = ε²/2 alone."""
    return composed_cost(
        Neighbours.ADD_REMOVE_ROW, price, query=query, mechanism=noise, pure=noise == LAPLACE
    )


def with_noise(
    numbers: IntArray, noise: IntegerNoise, scale: Fraction, entropy: Entropy
) -> IntArray:
    """Exact whole numbers with independent integer noise."""
    drawn = drawn_noise(noise, scale, numbers.size, entropy)
    noisy: IntArray = numbers + drawn.reshape(numbers.shape)
    return noisy


def check_scale(scale: Fraction) -> None:
    """Refuses noise that would not fit into 64 bits.

    Raises:
        ParameterError: if the scale is above 2^40.
    """
    if scale > LARGEST_SCALE:
        raise ParameterError(
            "Expected a larger epsilon: the noise would have a scale above 2^40. Raise epsilon, or "
            "step where there is one."
        )
