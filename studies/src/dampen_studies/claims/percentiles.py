"""Claims of the percentile evaluation: largest reductions of the expected error."""

from collections.abc import Callable, Sequence

from dampen_studies.claims.claim import Claim, Judgement, NotMeasured, Outcome, of
from dampen_studies.rows import curve
from dampen_studies.study import Rows

TOLERANCE = 2.0
"""Percentage points: the paper's grid of ε is not known exactly."""


def largest_reduction(rows: Rows, dataset: str, p: int, against: str = "em") -> float:
    """The largest reduction of LD's expected error against another method's, in percent."""
    _, ours = curve(rows, "epsilon", "error", dataset=dataset, p=p, method="ld")
    _, theirs = curve(rows, "epsilon", "error", dataset=dataset, p=p, method=against)
    if not ours:
        raise NotMeasured
    pairs = zip(ours, theirs, strict=True)
    return max(100 * (1 - a / b) for a, b in pairs if b > 0)


def _reductions(dataset: str, printed: tuple[int, int, int]) -> Callable[[Rows], Judgement]:
    def judge(rows: Rows) -> Judgement:
        found = [largest_reduction(rows, dataset, p) for p in (50, 90, 99)]
        measured = " / ".join(f"{value:.1f} %" for value in found)
        if [int(value) for value in found] == list(printed):
            cut = "Cut to whole per cent, the paper's numbers; computed exactly."
            return Judgement(measured, Outcome.CONFIRMED, cut)
        if all(abs(a - b) <= TOLERANCE for a, b in zip(found, printed, strict=True)):
            return Judgement(measured, Outcome.CONFIRMED, "Within two points, computed exactly.")
        return Judgement(measured, Outcome.NOT_CONFIRMED, "More than two points away.")

    return judge


def _income(rows: Rows) -> Judgement:
    found = [largest_reduction(rows, "income", p) for p in (50, 90, 99)]
    measured = " / ".join(f"{value:.1f} %" for value in found)
    if max(found) <= 3 + TOLERANCE:
        return Judgement(
            measured,
            Outcome.CONFIRMED,
            "Cut to whole per cent, 3 for p = 99; p = 50 is no smaller. δ is close to Λ here.",
        )
    return Judgement(measured, Outcome.NOT_CONFIRMED, "The reduction is larger than stated.")


def _headline(rows: Rows) -> Judgement:
    found = max(
        largest_reduction(rows, dataset, p)
        for dataset in ("patent", "hepth", "income")
        for p in (50, 90, 99)
    )
    outcome = Outcome.CONFIRMED if found >= 73 - TOLERANCE else Outcome.NOT_CONFIRMED
    best_value = _value_release(rows)
    return Judgement(
        f"{found:.0f} %",
        outcome,
        "Reached at large ε only; at ε = 1 labels can hardly be told apart by any mechanism. Who "
        f"wants the value should use the rank utility: {best_value}.",
    )


def _value_release(rows: Rows) -> str:
    label = _at(rows, "ld")
    value = _at(rows, "value")
    return f"on HEPTH, p = 99, ε near 1, error {value:.1f} instead of {label:.0f}"


def _at(rows: Rows, method: str) -> float:
    epsilons, errors = curve(rows, "epsilon", "error", dataset="hepth", p=99, method=method)
    if not epsilons:
        raise NotMeasured
    nearest = min(range(len(epsilons)), key=lambda i: abs(epsilons[i] - 1.1))
    return errors[nearest]


def _similar(rows: Rows) -> Judgement:
    gaps = []
    for dataset in ("patent", "hepth", "income"):
        for p in (50, 90, 99):
            _, em = curve(rows, "epsilon", "error", dataset=dataset, p=p, method="em")
            _, pf = curve(rows, "epsilon", "error", dataset=dataset, p=p, method="pf")
            if not em:
                raise NotMeasured
            gaps.append(max(100 * (1 - b / a) for a, b in zip(em, pf, strict=True) if a > 1e-9))
    measured = (
        f"PF is at most {max(gaps):.0f} % below EM; median over the settings {_median(gaps):.0f} %"
    )
    outcome = Outcome.CONFIRMED if max(gaps) <= 5 else Outcome.NOT_CONFIRMED
    return Judgement(
        measured,
        outcome,
        "PF is never worse than EM, and with thousands of candidates of nearly equal score hardly "
        "better at these ε.",
    )


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


CLAIMS = (
    Claim("Percentile headline", "Abstract", "the error falls by up to 73 %",
          "percentiles", _headline),
    Claim("PATENT", "Section 5.3", "up to 44 / 52 / 59 % less error for p = 50 / 90 / 99",
          "percentiles", _reductions("patent", (44, 52, 59)), of("patent")),
    Claim("HEPTH", "Section 5.3", "up to 12 / 52 / 73 % less error for p = 50 / 90 / 99",
          "percentiles", _reductions("hepth", (12, 52, 73)), of("hepth")),
    Claim("INCOME", "Section 5.3", "at most 3 % less error, for p = 99", "percentiles", _income,
          of("income")),
    Claim("EM and PF", "Section 5.3", "EM and PF have very similar errors in all cases",
          "percentiles", _similar),
)  # fmt: skip
