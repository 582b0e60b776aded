"""Claims of the worked examples, the β example and the correlation figure."""

from collections.abc import Callable
from itertools import pairwise

from dampen_studies.claims.claim import Claim, Judgement, NotMeasured, Outcome
from dampen_studies.rows import curve, where
from dampen_studies.study import Rows, number


def agrees(paper: float, measured: float) -> bool:
    """Equal to the decimals that the paper prints, give or take one of the last; whole numbers are
    exact.
    """
    shown = f"{paper:.10g}"
    decimals = len(shown.partition(".")[2])
    tolerance = 1.01 * 10.0**-decimals if decimals else 1e-4
    return abs(paper - measured) <= tolerance


def _examples(*names: str, sentence: str = "") -> Callable[[Rows], Judgement]:
    """All quantities of some examples against the printed ones."""

    def judge(rows: Rows) -> Judgement:
        found = [
            row
            for row in rows
            if row["example"] in names and "exact LS" not in str(row["quantity"])
        ]
        if not found:
            raise NotMeasured
        wrong = [r for r in found if not agrees(number(r, "paper"), number(r, "measured"))]
        shown = wrong or found
        measured = "; ".join(f"{r['quantity']} = {number(r, 'measured'):.4g}" for r in shown)
        if not wrong:
            return Judgement(measured, Outcome.CONFIRMED, "Brute force gives the same numbers.")
        return Judgement(measured, Outcome.CORRECTED, sentence or "The printed numbers are off.")

    return judge


def _dominance(rows: Rows) -> Judgement:
    found = where(rows, example="Dominance")
    if not found:
        raise NotMeasured
    better = number(found[0], "paper")
    worse = number(found[0], "measured")
    measured = f"{worse:.4f} against {better:.4f}"
    if worse <= better:
        return Judgement(measured, Outcome.CONFIRMED, "No counterexample among the cases tried.")
    return Judgement(
        measured,
        Outcome.NOT_CONFIRMED,
        "With Δ = 10, T = 5, u = (1, 0), ε = 1 the δ = (2, 2) dominates (8, 2) as printed and has "
        "the larger error: for shifts to +infinity the order of the gaps is reversed.",
    )


def _beta(rows: Rows) -> Judgement:
    _, errors = curve(rows, "beta", "error", method="sld")
    _, em = curve(rows, "beta", "error", method="em")
    falls = all(b <= a + 1e-12 for a, b in pairwise(errors))
    measured = f"SLD from {errors[0]:.2f} to {errors[-1]:.2g}; EM {em[0]:.2f} throughout"
    if falls and errors[-1] < errors[0]:
        return Judgement(
            measured,
            Outcome.CONFIRMED,
            "The error falls with β, because δ differs more between the candidates; LD, in "
            "contrast, gets worse than EM here.",
        )
    return Judgement(measured, Outcome.NOT_CONFIRMED, "The error does not fall along the grid.")


def _correlation(rows: Rows) -> Judgement:
    found = where(rows, dataset="enron")
    if not found:
        raise NotMeasured
    pearson = number(found[0], "pearson")
    spearman = number(found[0], "spearman")
    measured = f"Pearson {pearson:.2f}, Spearman {spearman:.2f} over all nodes"
    outcome = Outcome.CONFIRMED if spearman > 0.5 else Outcome.NOT_CONFIRMED
    return Judgement(
        measured,
        outcome,
        "δ at distance 0 is a function of the degree alone, so this is the correlation of EBC with "
        "the degree; that is why the degree is the control of every comparison below.",
    )


_SHIFTING = (
    "D = -0.167 for a (weight .846), not .1 (.44), so .338 and .054 instead of .472 and .0046. v2 "
    "and v3 have LS = 1, not 2, which makes shifting better still. The conclusion, better than EM "
    "and LD, stands."
)

CLAIMS = (
    Claim("EBC of the running graphs", "Example 1", "EBC(a) = 7.5, 15 without the edge, 6.5",
          "examples", _examples("Example 1")),
    Claim("Element sensitivity", "Examples 2 and 4", "LS of v0 in the worst case is 1; of v4 is 2",
          "examples", _examples("Example 2", "Example 4")),
    Claim("Local sensitivity", "Example 3", "LS(G, 0) = 3, LS(G, 1) = 5",
          "examples", _examples("Example 3")),
    Claim("Local dampening", "Example 5", "D = 1.7; probabilities .32 and .06",
          "examples", _examples("Example 5")),
    Claim("Exponential mechanism", "Example 6", "probabilities .22 and .09",
          "examples", _examples("Example 6")),
    Claim("Inversion", "Example 7", "dampening turns u = 3, 4 into D = 2, 1",
          "examples", _examples("Example 7")),
    Claim("Shifting", "Example 8", "shifted by 7: D = .1 and -2; probabilities .472 and .0046",
          "examples", _examples("Example 8", sentence=_SHIFTING)),
    Claim("Dominance", "Section 4.4, dominance lemma",
          "a δ that dominates another has the smaller expected error",
          "examples", _dominance),
    Claim("β", "Figure 7", "the error of SLD falls as δ shrinks", "beta", _beta),
    Claim("EBC and δ", "Figure 8", "EBC and δ at distance 0 are positively correlated on Enron",
          "correlation", _correlation),
)  # fmt: skip
