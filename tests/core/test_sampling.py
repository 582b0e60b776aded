"""Exact sampling: certified bounds, refinement, injected bits.  Laws are tested in statistical/."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dampen import ParameterError
from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise
from dampen.core.sampling import (
    FEW_BITS,
    PIECE,
    InsecureEntropy,
    SystemEntropy,
    contenders,
    discrete_laplace,
    fresh,
    geometric,
    noisy_top,
    settle,
)
from goodness import FALSE_ALARM, p_value
from noises import NOISES, noise_at


class Replay:
    """Plays given bytes; afterwards, zeros and ones in turn."""

    secure = False

    def __init__(self, *words: int) -> None:
        self.pending = b"".join(int(w).to_bytes(4, "little") for w in words)
        self.reads = 0

    def read(self, size: int, /) -> bytes:
        self.reads += 1
        taken, self.pending = self.pending[:size], self.pending[size:]
        return taken + b"\x55" * (size - len(taken))


def word(u: float) -> int:
    return int(u * 2**32)


def test_injected_bits_decide_the_winner() -> None:
    # Gumbel noise grows with U, exponential noise falls with it.
    bits = [word(0.2), word(0.9), word(0.5)]
    values = np.zeros(3)
    assert noisy_top(values, Fraction(1), GUMBEL, 3, Replay(*bits)) == [1, 2, 0]
    assert noisy_top(values, Fraction(1), EXPONENTIAL, 3, Replay(*bits)) == [0, 2, 1]


def test_laplace_noise_takes_its_sign_from_the_first_bit() -> None:
    small, large = word(0.01) // 2, word(0.9) // 2  # far from zero, near zero
    bits = [small + 2**31, large, small]  # very negative, slightly positive, very positive
    assert noisy_top(np.zeros(3), Fraction(1), LAPLACE, 3, Replay(*bits)) == [2, 1, 0]


def test_scores_count_exactly_where_noise_ties() -> None:
    same = [word(0.5)] * 2
    values = np.array([1.0, np.nextafter(1.0, 2)])
    entropy = Replay(*same)
    assert noisy_top(values, Fraction(1), GUMBEL, 1, entropy) == [1]
    assert entropy.reads > 1  # the tie was decided by further bits


def test_numpy_log_is_as_good_as_the_first_pass_trusts() -> None:
    rng = np.random.default_rng(1)
    x = np.r_[rng.random(3000), 1 - rng.random(1000) * 2.0**-20, rng.random(500) * 2.0**-30]
    with ctx.workprec(200):
        worst = max(
            float(abs((arb(float(v)) - arb(float(p)).log()) / arb(float(p)).log()))
            for p, v in zip(x, np.log(x), strict=True)
        )
    assert worst < 2.0**-44


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
def test_a_short_first_pass_sorts_everything_the_same_way(noise: Noise) -> None:
    # With 2 bits nearly everything is a near-tie; the order must still be strict and complete.
    top = noisy_top(np.arange(40) / 10, Fraction(1, 3), noise, 40, InsecureEntropy(5), bits=2)
    assert sorted(top) == list(range(40))


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("k", [1, 5, 30])
def test_the_top_k_are_the_largest_exact_values(noise: Noise, k: int) -> None:
    """Recomputes every noisy value from the recorded bits, in ball arithmetic."""
    values = np.random.default_rng(k).normal(size=30) * 2
    for seed in range(20):
        entropy = Recorder(InsecureEntropy(seed))
        top = noisy_top(values, Fraction(1, 2), noise, k, entropy, bits=32)
        words = np.frombuffer(entropy.first, dtype=np.uint32).tolist()
        noisy = [float(values[i]) / 2 + float(noise_at(noise, w, 32, Fraction(1, 2)).mid())
                 for i, w in enumerate(words)]  # fmt: skip
        gaps = -np.diff(np.sort(noisy)[::-1])
        if gaps.min() > 1e-6:  # no near-tie: 32 bits decide
            assert top == np.argsort(noisy)[::-1][:k].tolist()


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("gap", [0.0, 1.0, 1e10, 1e17])
@pytest.mark.parametrize("bits", [3, 32])
def test_every_rank_is_exact(noise: Noise, gap: float, bits: int) -> None:
    """Further bits are 0101..., so U = (word + 1/3) / 2^bits; nearly everything is a near-tie."""
    rng, scale = np.random.default_rng(int(gap) % 1000 + bits), Fraction(3, 7)
    for _ in range(15):
        words, values = near_ties(rng, gap, bits)
        n = len(values)
        with ctx.workprec(600):
            noisy = [
                arb(fmpq(3, 7)) * arb(float(v)) + noise_at(noise, w, bits, Fraction(1, 3))
                for v, w in zip(values, words, strict=True)
            ]
            exact = sorted(range(n), key=lambda i: noisy[i].mid(), reverse=True)
        for k in (1, 2, n):
            entropy = Replay(*(w << (32 - bits) for w in words))
            assert noisy_top(values, scale, noise, k, entropy, bits=bits) == exact[:k]


def near_ties(rng: np.random.Generator, gap: float, bits: int) -> tuple[list[int], np.ndarray]:
    """Words that are the first, the last, or near one another, and scores in two close heaps."""
    centre = int(rng.integers(2, 2**bits - 2))
    words = [0, 2**bits - 1, *(np.clip(centre + rng.integers(-2, 3, 12), 0, 2**bits - 1).tolist())]
    values = rng.integers(0, 2, len(words)) * gap + rng.integers(-3, 4, len(words)) * 2.0**-34
    pairs = {(w, float(v)): None for w, v in zip(words, values, strict=True)}
    return [w for w, _ in pairs], np.array([v for _, v in pairs])


@pytest.mark.parametrize(
    ("noise", "infinite", "above"),
    [(GUMBEL, 2**32 - 1, 2**31 + 8), (EXPONENTIAL, 0, 2**31 - 8), (LAPLACE, 0, 2**30 - 8)],
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.parametrize("gap", [1e3, 1e10, 1e15])
def test_a_tie_at_a_lower_rank_falls_either_way(
    noise: Noise, infinite: int, above: int, gap: float
) -> None:
    """One candidate far below, whose bound is infinite at first, must not make others coarse."""
    tied = 2**30 if noise is LAPLACE else 2**31
    orders = Counter(
        tuple(noisy_top(np.array([-gap, 0, 0, 0]), Fraction(1), noise, 4, Given(words)))
        for words in itertools.repeat([infinite, above, tied, tied], 200)
    )
    assert set(orders) == {(1, 2, 3, 0), (1, 3, 2, 0)}
    assert p_value(list(orders.values()), [1, 1]) > FALSE_ALARM


class Given(Replay):
    """Plays the given words, afterwards the operating system's bits."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(*words)

    def read(self, size: int, /) -> bytes:
        return super().read(size) if self.pending else SystemEntropy().read(size)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("bits", [3, 32])
@pytest.mark.parametrize("k", [1, 4, 60])
def test_blocks_of_candidates_give_the_same_answer(noise: Noise, bits: int, k: int) -> None:
    """The same bits, drawn over 1, 2 and 7 blocks: the same answer, near-ties included."""
    scale = Fraction(2, 3)
    for seed in range(30):
        values = np.round(np.random.default_rng(seed).normal(size=60), 1) * 10.0 ** (seed % 3)
        answers = []
        for cuts in ([], [25], [1, 2, 20, 33, 50, 59]):
            entropy, start, blocks = InsecureEntropy(seed), 0, []
            for part in np.split(values, cuts):
                block = contenders(part, scale, noise, k, entropy, start=start, bits=bits)
                blocks.append(block)
                start += len(part)
            answers.append(settle(blocks, scale, noise, k, entropy))
        assert answers[0] == answers[1] == answers[2]
        assert len(set(answers[0])) == k


def test_a_block_keeps_only_those_who_may_win() -> None:
    values = np.zeros(100_000)
    block = contenders(values, Fraction(1), GUMBEL, 3, InsecureEntropy(1), start=500)
    assert 3 <= len(block.ids) < 10 and block.ids.min() >= 500
    nobody = contenders(values[:0], Fraction(1), GUMBEL, 3, InsecureEntropy(1))
    assert len(nobody.ids) == 0
    assert settle([nobody, block], Fraction(1), GUMBEL, 3, InsecureEntropy(2)) == settle(
        [block], Fraction(1), GUMBEL, 3, InsecureEntropy(2)
    )


class Recorder:
    """Keeps the bytes of the first read, or of all."""

    secure = False

    def __init__(self, inner: InsecureEntropy, *, whole: bool = False) -> None:
        self.inner, self.first, self.whole = inner, b"", whole

    def read(self, size: int, /) -> bytes:
        taken = self.inner.read(size)
        self.first = self.first + taken if self.whole else self.first or taken
        return taken


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("k", [1, 20])
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_many_candidates_are_drawn_from_few_bits_each(noise: Noise, k: int, spread: float) -> None:
    """By the recorded bits whoever is left out cannot be above anyone who is in."""
    values = np.random.default_rng(k).normal(size=2**17) * spread
    entropy = Recorder(InsecureEntropy(k), whole=True)
    top = noisy_top(values, Fraction(1, 2), noise, k, entropy)
    words = np.frombuffer(entropy.first[: 2 * len(values)], dtype=np.uint16).astype(np.uint32)
    with np.errstate(divide="ignore"):
        upper, lower = (values / 2 + bound(words, FEW_BITS) for bound in (noise.upper, noise.lower))
    assert len(set(top)) == k
    assert upper[top].min() >= np.sort(lower)[-k]


def test_many_candidates_keep_their_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dampen.core.sampling.MANY", 1)
    values = np.array([0.0, 1.0, 2.0, 2.5])
    for noise in NOISES:
        entropy = InsecureEntropy(1)
        found = [noisy_top(values, Fraction(1, 2), noise, 1, entropy)[0] for _ in range(8000)]
        counts = np.bincount(found, minlength=4)
        assert p_value(counts, noise.law(values / 2 - 1.25)) > FALSE_ALARM
        assert p_value(counts, noise.law((values - 2.5) * 0.35)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(20), Fraction(4000)])
def test_geometric_numbers_from_half_the_bits_have_the_same_law(scale: Fraction) -> None:
    g = geometric(scale, 400_000, InsecureEntropy(3), bits=32)
    cuts = np.unique(np.floor(float(scale) * np.linspace(0, 6, 25)))
    below = -np.expm1(-cuts / float(scale))
    law = np.diff(np.r_[below, 1.0])
    counts = np.bincount(np.searchsorted(cuts, g, side="right") - 1, minlength=len(cuts))
    assert p_value(counts, law) > FALSE_ALARM


def test_extreme_scores() -> None:
    values = np.array([1e308, -1e308, 0.0, 1e308])
    for noise in NOISES:
        assert noisy_top(values, Fraction(1), noise, 1, SystemEntropy())[0] in (0, 3)
        assert noisy_top(values, Fraction(10**320), noise, 1, SystemEntropy())[0] in (0, 3)
        tiny = noisy_top(values, Fraction(1, 10**320), noise, 4, SystemEntropy())
        assert sorted(tiny) == [0, 1, 2, 3]
        # All four are as good as equal, though their differences overflow.
        entropy = InsecureEntropy(3)
        first = [noisy_top(values, Fraction(1, 10**320), noise, 1, entropy)[0] for _ in range(400)]
        assert p_value(np.bincount(first, minlength=4), [1] * 4) > FALSE_ALARM


def test_an_insecure_source_repeats_itself_and_says_so() -> None:
    first, second = InsecureEntropy(7), InsecureEntropy(7)
    assert first.read(64) == second.read(64)
    assert first.read(64) != InsecureEntropy(8).read(64)
    assert not first.secure
    assert SystemEntropy().secure
    assert SystemEntropy().read(32) != SystemEntropy().read(32)


def test_only_a_seeded_source_starts_again() -> None:
    seeded = InsecureEntropy(7, allow_release=True)
    first = seeded.read(16)
    again = fresh(seeded)
    assert again is not seeded and again == seeded and again.read(16) == first

    class Hardware:
        secure = True

        def read(self, size: int, /) -> bytes:
            raise NotImplementedError

    for source in (Hardware(), SystemEntropy()):
        assert fresh(source) is source


def test_discrete_laplace_of_a_tiny_scale_is_zero() -> None:
    for scale in (Fraction(1, 1000), Fraction(1, 10**25), Fraction(1, 10**330)):
        assert not discrete_laplace(scale, 1000, SystemEntropy()).any()


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(10**9), Fraction(2**40), Fraction(7, 3)]
)
def test_geometric_numbers_are_floors_of_exact_exponentials(scale: Fraction) -> None:
    """Further bits are 0101...; near 2^40 no float decides, and the words are corners too."""
    rng = np.random.default_rng(3)
    words = [0, 1, 2**53 - 1, 2**53 - 2, *rng.integers(0, 2**53, 300).tolist()]
    drawn = geometric(scale, len(words), Replay(*(half for w in words for half in halves(w << 11))))
    with ctx.workprec(400):
        for word, g in zip(words, drawn.tolist(), strict=True):
            u = (arb(word) + arb(1) / 3) / arb(2) ** 53
            assert (-u.log() * arb(fmpq(scale.numerator, scale.denominator))).floor() == g


def halves(word: int) -> tuple[int, int]:
    return word & (2**32 - 1), word >> 32


def test_discrete_laplace_refuses_a_scale_beyond_64_bits() -> None:
    assert np.abs(discrete_laplace(Fraction(2**40), 1000, SystemEntropy())).max() < 2**50
    for scale in (Fraction(2**40 + 1), Fraction(10**400), Fraction(0)):
        with pytest.raises(ParameterError, match="Expected noise of a scale"):
            discrete_laplace(scale, 1, SystemEntropy())


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, 5 * PIECE + 7])
def test_much_entropy_is_read_in_pieces_and_is_as_long_as_asked_for(size: int) -> None:
    """That two pieces agree in their first 8 bytes by chance is less likely than 2^-59."""
    taken = SystemEntropy().read(size)
    assert len(taken) == size
    starts = [taken[i : i + 8] for i in range(0, size - 7, PIECE)]
    assert len(set(starts)) == len(starts)
