"""What ε it takes to find the best group, in a table."""

from collections.abc import Iterator, Sequence
from itertools import product
from statistics import fmean, geometric_mean, median

from dampen.questions.groups.problem import FEW
from dampen_studies.experiments import key_names, names
from dampen_studies.experiments.caution import DEVELOPMENT, FIRST, MOST, RULES, few_left_out
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

GROUP_METHODS = ("reach", "control", "inverse", "smooth", "ld", "ld shifted", "sld", "em")


def group_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The ε that takes a probability of 0.9 for medians; medians over tables for all statistics."""
    of_median = where(rows, statistic="median")
    lines = []
    for dataset in values(of_median, "dataset"):
        here = where(of_median, dataset=dataset)
        known = [f"{number(here[0], 'rows'):,.0f}", f"{number(here[0], 'groups'):.0f}"]
        lines.append([str(dataset), *known, *_needed_by(here), *_ratio(here)])
    for statistic in values(rows, "statistic"):
        here = where(rows, statistic=statistic)
        title = f"median over tables: {statistic}"
        lines.append([title, "", "", *_needed_by(here), *_ratio(here)])
    return ["table", "rows", "groups", *GROUP_METHODS, "control / reach"], lines


def _needed_by(rows: Rows) -> Iterator[str]:
    for method in GROUP_METHODS:
        found = [needed(row) for row in where(rows, method=method)]
        yield _epsilon(median(found)) if found else "-"


def _ratio(rows: Rows) -> Iterator[str]:
    """The median over tables of what the control needs more; where both never do, nothing."""
    pairs = [
        (needed(ours), needed(theirs))
        for ours, theirs in zip(
            where(rows, method="reach"), where(rows, method="control"), strict=True
        )
    ]
    found = [theirs / ours for ours, theirs in pairs if ours < float("inf")]
    yield "-" if not found else "∞" if median(found) == float("inf") else f"{median(found):.1f}"


def needed(row: dict[str, Value]) -> float:
    """The ε of a row of the study of groups; infinite for never."""
    return float("inf") if isinstance(row["needed"], str) else number(row, "needed")


def caution_rows(rows: Rows, tables: str) -> tuple[list[str], list[list[str]]]:
    """Ratios to caution 1 on a collection of tables: of every rule, and of parts of it."""
    here = where(rows, tables=tables)
    named = {str(rule).replace("few", "c ="): where(here, rule=rule) for rule in RULES}
    del named[FIRST]
    usual = where(here, rule=f"few {FEW}")
    named |= {f"c = {FEW}, p = {p:g}": where(usual, p=p) for p in values(here, "p")}
    if tables == DEVELOPMENT:
        chosen = few_left_out(here)
        named["c chosen without the table"] = [
            row for row in here if row["rule"] == f"few {chosen[str(row['dataset'])]}"
        ]
    all_alike = where(here, rule="caution 3")
    middle = {"above": [row for row in all_alike if number(row, "best_above") > HALF]}
    middle["below"] = [row for row in all_alike if number(row, "best_above") < HALF]
    named |= {f"caution 3, best group {how} the median size": of for how, of in middle.items()}
    lines = [[name, *_compared(found)] for name, found in named.items()]
    least = [
        min(where(here, dataset=name, p=p), key=lambda row: number(row, "ratio"))
        for name, p in dict.fromkeys((row["dataset"], row["p"]) for row in here)
    ]
    lines.append(["the best of all rules for every question", *_compared(least)])
    header = ["rule", "questions", "10 % less", "10 % more", "median", "geometric mean", "largest"]
    return header, lines


def _compared(rows: Rows) -> list[str]:
    """How many questions there are, gain and lose, and their ratios."""
    found = [number(row, "ratio") for row in rows]
    less = sum(each <= LESS for each in found)
    more = sum(each > MOST for each in found)
    counts = [f"{len(found)}", f"{less}", f"{more}"]
    return [*counts, *(f"{of(found):.2f}" for of in (median, geometric_mean, max))]


HALF = 0.5
ENOUGH = 0.9
LESS = 0.9


def people_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The ε that takes a probability of 0.9, where ε protects persons."""
    lines = []
    ratios = list[float]()
    for dataset in values(rows, "dataset"):
        here = where(rows, dataset=dataset)
        usual = int(number(here[0], "groups_per_unit"))
        per_group = _enough(where(here, method="row per group"))
        kept = min(_enough(where(here, method=f"{m} row{'s' * (m > 1)}")) for m in (1, 2, 5))
        ours = _enough(where(here, method="rule"))
        best = min(per_group, kept)
        ratio = ours / best if ours < float("inf") else float("nan")
        if usual > 2:
            ratios.append(ratio)
        known = [str(dataset), f"{number(here[0], 'units'):,.0f}", f"{usual}"]
        lines.append([*known, *map(_epsilon, (ours, per_group, kept)), f"{ratio:.2f}"])
    title = "median, persons in 3 groups or more"
    lines.append([title, "", "", "", "", "", f"{median(ratios):.2f}"])
    header = ["table", "persons", "groups a person", "dampen", "a row per group", "m rows", "ratio"]
    return header, lines


def _enough(rows: Rows) -> float:
    """The least ε with a probability of 0.9."""
    found = [number(row, "epsilon") for row in rows if number(row, "right") >= ENOUGH]
    return min(found, default=float("inf"))


def people_value_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The median error of percentiles over tables, beside OpenDP's with its best k."""
    lines = []
    for target in values(rows, "target"):
        for epsilon in values(rows, "epsilon"):
            for p in values(rows, "p"):
                here = where(rows, target=target, epsilon=epsilon, p=p)
                pairs = [_both(where(here, dataset=name)) for name in values(here, "dataset")]
                ahead = sum(ours <= theirs for ours, theirs in pairs)
                medians = [f"{median(side):.2f}" for side in zip(*pairs, strict=True)]
                known = [str(target), f"{epsilon:g}", f"{p:g}"]
                lines.append([*known, *medians, f"{ahead} of {len(pairs)}"])
    return ["percentile of", "ε", "p", "dampen", "OpenDP, best k", "dampen at or ahead"], lines


def _both(rows: Rows) -> tuple[float, float]:
    ours = number(where(rows, method="dampen")[0], "error")
    return ours, min(number(row, "error") for row in rows if row["method"] != "dampen")


def name_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The share of the k targets with the most sources that is found, and by edges cut to a cap."""
    epsilons = values(rows, "epsilon")
    lines = [
        [
            str(dataset),
            f"{k:g}",
            *(_pair(where(rows, dataset=dataset, k=k, epsilon=epsilon)) for epsilon in epsilons),
        ]
        for dataset in values(rows, "dataset")
        for k in names.SHOWN
    ]
    gaps = {"below the rival by more than 0.02, any k": _ahead(rows)}
    gaps["levels chosen without the relation"] = [gap for _, gap in names.left_out(rows)]
    lines += [[f"{what}: {_short(gap)}", "", *("" for _ in epsilons)] for what, gap in gaps.items()]
    return ["relation", "k", *(f"ε = {epsilon:g}" for epsilon in epsilons)], lines


RELATION_NAMES = {"replace-one": "replace one value", "add-remove-row": "add or remove a row"}
STRONG = 100
"""n ε min(q, 1 - q) from which percentiles without bounds are compared."""


DRAWN = ("drawn", "held out")
"""Kinds of columns that were drawn at random."""


def unbounded_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The mean rank error of percentiles, and in how many cells linear points are better."""
    strong = [row for row in rows if number(row, "strength") >= STRONG]
    lines = []
    for relation, name in RELATION_NAMES.items():
        for n in values(strong, "n"):
            for epsilon in values(strong, "epsilon"):
                here = where(strong, neighbours=relation, n=n, epsilon=epsilon)
                if here:
                    ways = ("error", "exponential", "linear", "shifted")
                    means = [f"{fmean(number(row, way) for row in here):.1f}" for way in ways]
                    lines.append([name, f"{n:,.0f}", f"{epsilon:g}", *means])
    sets = {
        "30 chosen columns": [row for row in strong if row["kind"] not in DRAWN],
        **{f"30 columns, {kind}": where(strong, kind=kind) for kind in DRAWN},
    }
    for kind, here in sets.items():
        label = f"smaller error in cells of {len(here)}, {kind}"
        losses = [_lost(here, way) for way in ("exponential", "linear", "shifted")]
        lines.append([label, "", "", "", *losses])
    head = [
        "relation",
        "n",
        "ε",
        "without bounds",
        "for ρ",
        "500 linear points",
        "mean over 20 shifts of them",
    ]
    return head, lines


def _lost(rows: Rows, way: str) -> str:
    gaps = [number(row, "error") - number(row, way) for row in rows]
    lost = [gap for gap in gaps if gap > 0]
    return f"{len(lost)}, by {median(lost):.1f} in the median, at most {max(lost):.1f}"


def unbounded_number_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """dampen's error without bounds by that of others: geometric mean and range over columns."""
    ours, *others = values(rows, "library")
    lines = []
    for statistic in values(rows, "statistic"):
        for epsilon in values(rows, "epsilon"):
            here = where(rows, statistic=statistic, epsilon=epsilon)
            made = where(here, library=ours)
            answered = sorted(number(row, "answered") for row in made)
            share = f"{answered[0]:.2f} to {answered[-1]:.2f}"
            found = [_ratios(made, where(here, library=each)) for each in others]
            lines.append([str(statistic), f"{epsilon:g}", share, *found])
    return ["", "ε", "answered", *(str(each) for each in others)], lines


def _ratios(ours: Rows, theirs: Rows) -> str:
    pairs = zip(ours, theirs, strict=True)
    ratios = [number(our, "error") / number(their, "error") for our, their in pairs]
    return f"{geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _ahead(rows: Rows) -> list[float]:
    pairs = zip(where(rows, method="rule"), where(rows, method="cut"), strict=True)
    return [number(rule, "right") - number(cut, "right") for rule, cut in pairs]


def _short(ahead: Sequence[float]) -> str:
    below = sum(gap < -names.SHORT for gap in ahead)
    return f"{below} of {len(ahead)} cells, the worst by {-min(ahead):.2f}"


def _pair(rows: Rows) -> str:
    shares = [number(where(rows, method=method)[0], "right") for method in ("rule", "cut")]
    return " / ".join(f"{share:.2f}" for share in shares)


def _epsilon(value: float) -> str:
    return "never" if value == float("inf") else f"{value:.2g}"


KEY_WAYS = ("rule", "limited", "cut", "either", "weights", "known keys")


def key_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The share of the true top 10 of keys that nobody listed, at ε = 1, and OpenDP's."""
    here = where(rows, epsilon=1.0, k=key_names.K)
    found = []
    for name in key_names.TABLES:
        line = [str(name)]
        for relation, ways in (("person", KEY_WAYS), ("row", ("keys", "opendp"))):
            for way in ways:
                [row] = where(here, dataset=name, relation=relation, way=way)
                line.append(f"{number(row, 'right'):.2f}".removeprefix("0"))
        found.append(line)
    head = ["persons, keys", *KEY_WAYS, "rows: dampen", "rows: OpenDP"]
    return head, found


def key_rule_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The rule of naming keys of persons beside the best way, at every ε."""
    epsilons = [float(each) for each in values(rows, "epsilon")]
    lines = []
    for name, k in product(key_names.TABLES, key_names.SIZES):
        here = where(rows, dataset=name, k=k, relation="person")
        lines.append([name, str(k), *(_rule_and_best(where(here, epsilon=e)) for e in epsilons)])
    for title, tables in (("these", key_names.TABLES), ("others", key_names.CHOSEN)):
        for k in key_names.SIZES:
            here = [row for row in where(rows, k=k, way="rule") if row["dataset"] in tables]
            shares = [_near_the_best(where(here, epsilon=e), rows) for e in epsilons]
            lines.append([f"0.9 of the best: {title}", str(k), *shares])
    return ["persons, keys", "k", *(f"ε = {epsilon:g}" for epsilon in epsilons)], lines


def _rule_and_best(ways: Rows) -> str:
    [rule] = where(ways, way="rule")
    return f"{number(rule, 'right'):.2f} / {_best(ways):.2f}"


def _best(ways: Rows) -> float:
    return max(number(row, "right") for row in ways if row["way"] in key_names.RIVALS)


def _near_the_best(rules: Rows, rows: Rows) -> str:
    """How many of the columns where the best way names a tenth at least."""
    near = [
        number(rule, "of_best") >= 0.9
        for rule in rules
        if _best(where(rows, **{each: rule[each] for each in ("dataset", "k", "epsilon")})) >= 0.1
    ]
    return f"{sum(near)} of {len(near)}"
