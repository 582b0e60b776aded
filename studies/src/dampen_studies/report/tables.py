"""The published tables: each from the rows of one committed full run, in Markdown.

A page of the documentation marks the place of a table, or of a number in a sentence, by its name;
`publish` fills it in, so that no number is ever copied by hand, and `compare` compares.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest
from statistics import fmean, stdev
from typing import NamedTuple, TypeAlias

from dampen.errors import DampenError, ParameterError
from dampen_studies import record, studies
from dampen_studies.claims import Finding, Outcome, Tables
from dampen_studies.claims.influence import table_1
from dampen_studies.claims.percentiles import largest_reduction
from dampen_studies.datasets.names import printed
from dampen_studies.experiments import split
from dampen_studies.experiments.caution import DEVELOPMENT, FURTHER
from dampen_studies.experiments.long_lists import left_out
from dampen_studies.report import losses, model_tables, node_tables, results, stage_tables
from dampen_studies.report.figures import geometric_mean, ratios
from dampen_studies.report.group_tables import (
    caution_rows,
    group_rows,
    key_rows,
    key_rule_rows,
    name_rows,
    people_rows,
    people_value_rows,
    unbounded_number_rows,
    unbounded_rows,
)
from dampen_studies.report.many_tables import many_rows
from dampen_studies.report.palette import LOOKS
from dampen_studies.report.values import VALUES
from dampen_studies.rows import curve, values, where
from dampen_studies.study import Rows, Value, number

Block: TypeAlias = str
MARK = re.compile(
    r"(<!-- dampen-studies table ([\w-]+) -->\n)(.*?)(\n<!-- end of table -->)", flags=re.DOTALL
)
VALUE = re.compile(r"(<!-- dampen-studies value ([\w-]+) -->)(.*?)(<!-- end -->)")
NUMBER = re.compile(r"\d*\.?\d+")
GRAPHS = ("enron", "github", "dblp")
PRINTED_REDUCTIONS = {"patent": "44 / 52 / 59", "hepth": "12 / 52 / 73", "income": "- / - / 3"}


HOW = "Run it in full (`dampen-studies run`), then `dampen-studies keep`."


class NotRun(DampenError):
    """A table needs studies that are not in the record."""

    def __init__(self, what: str, names: Sequence[str]) -> None:
        super().__init__(f"{what} needs the record of {', '.join(names)}. {HOW}")
        self.names = tuple(names)


class Published(NamedTuple):
    """A page as the record has it: its text, how many places were filled, what the others lack."""

    text: str
    filled: int
    lacking: list[str]


def publish(text: str, tables: Tables, findings: Sequence[Finding]) -> Published:
    """The page with every marked table and number made anew.

    Raises:
        ParameterError: for a name that is none.
    """
    filled = 0
    lacking: list[str] = []

    def fill(mark: re.Match[str], make: Callable[[], str]) -> str:
        nonlocal filled
        try:
            made_anew = make()
        except NotRun as error:
            lacking.extend(error.names)
            return mark[0]
        filled += 1
        return mark[1] + made_anew + mark[4]

    text = MARK.sub(
        lambda mark: fill(mark, lambda: f"\n{made(mark[2], tables, findings).strip()}\n"), text
    )
    text = VALUE.sub(lambda mark: fill(mark, lambda: value(mark[2], tables)), text)
    return Published(text, filled, list(dict.fromkeys(lacking)))


class Difference(NamedTuple):
    """A line that is published and the one that the record gives."""

    table: str
    printed: str
    recorded: str


class Compared(NamedTuple):
    """A page against the record: how much was compared, what differs, what has no record."""

    numbers: int
    different: list[Difference]
    unrecorded: list[str]


def compare(text: str, tables: Tables, findings: Sequence[Finding]) -> Compared:
    """Every number in the marked places of a page against the committed results."""
    numbers = 0
    different: list[Difference] = []
    unrecorded: list[str] = []
    for mark in MARK.finditer(text):
        try:
            recorded = made(mark[2], tables, findings).strip().splitlines()
        except NotRun:
            unrecorded.append(mark[2])
            continue
        shown = mark[3].strip().splitlines()
        numbers += sum(len(NUMBER.findall(line)) for line in shown)
        pairs = zip_longest(shown, recorded, fillvalue="")
        different += [Difference(mark[2], a, b) for a, b in pairs if a != b]
    for mark in VALUE.finditer(text):
        try:
            recorded_value = value(mark[2], tables)
        except NotRun:
            unrecorded.append(mark[2])
            continue
        numbers += len(NUMBER.findall(mark[3]))
        if mark[3] != recorded_value:
            different.append(Difference(mark[2], mark[3], recorded_value))
    return Compared(numbers, different, unrecorded)


def made(name: str, tables: Tables, findings: Sequence[Finding]) -> Block:
    """One table by name.

    Raises:
        ParameterError: if there is none of that name.
        NotRun: if the study behind it was not run in full.
    """
    if name == "claims":
        return claims(findings)
    if name == "runs":
        return runs()
    if name in WHOLE:
        needed, of_all = WHOLE[name]
        missing = [study for study in needed if study not in tables]
        if missing:
            raise NotRun(f"The table {name!r}", missing)
        return markdown(*of_all(tables))
    if name not in MAKERS:
        raise ParameterError(
            f"Expected a table, one of {', '.join((*ALONE, *WHOLE, *MAKERS))}, got {name!r}."
        )
    study, make = MAKERS[name]
    if study not in tables:
        raise NotRun(f"The table {name!r}", [study])
    return make(tables[study])


def value(name: str, tables: Tables) -> str:
    """One number in a sentence, by name.

    Raises:
        ParameterError: if there is none of that name.
        NotRun: if the study behind it is not in the record.
    """
    if name not in VALUES:
        raise ParameterError(f"Expected a value, one of {', '.join(VALUES)}, got {name!r}.")
    study, make = VALUES[name]
    if study not in tables:
        raise NotRun(f"The value {name!r}", [study])
    return make(tables[study])


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Block:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def claims(findings: Sequence[Finding]) -> Block:
    """Every claim of the paper, what was measured, and how it fares.

    Raises:
        NotRun: if one was not measured: what is published is a full run.
    """
    short = {f.claim.study for f in findings if f.outcome is Outcome.NOT_MEASURED}
    if short:
        raise NotRun("The table of claims", sorted(short))
    rows = [
        (
            f"{f.claim.name} ({f.claim.where})",
            f.claim.says,
            f.measured,
            f"**{f.outcome}**. {f.sentence}",
        )
        for f in findings
    ]
    return markdown(("claim", "paper", "measured", "outcome"), rows)


def runs() -> Block:
    """The committed runs of the paper's studies: which code, when, how long.

    Raises:
        NotRun: if one is missing.
    """
    known = record.runs()
    missing = [study.name for study in studies.PAPER if study.name not in known]
    if missing:
        raise NotRun("The table of runs", missing)
    lines = []
    for study in studies.PAPER:
        run = known[study.name]
        finished = run.last.replace("T", " ").removesuffix(":00Z").removesuffix("Z")
        cells = [f"`{run.study}`", study.figure, f"{run.cells:,}", f"{run.seconds:,.0f}", finished]
        lines.append([*cells, f"`{run.commit}`", f"`{run.seeds}`"])
    header = ["study", "in the paper", "cells", "seconds of one core", "finished (UTC)"]
    return markdown([*header, "commit", "seeds"], lines)


def private_sql(rows: Rows) -> Block:
    """Table 1 of the paper beside ours."""
    header, lines = table_1(rows)
    shown = [[str(d), f"{e:g}", *(_share(float(x)) for x in rest)] for d, e, *rest in lines]
    return markdown(header, shown)


def top_k(rows: Rows) -> Block:
    """The share of the true top k by method and ε, one table per graph and k."""
    return "\n\n".join(_top_k(rows))


def _top_k(rows: Rows) -> Iterator[Block]:
    epsilons = [e for e in values(rows, "epsilon") if 0.01 <= float(e) <= 10]
    for dataset in GRAPHS:
        for k in values(rows, "k"):
            here = where(rows, dataset=dataset, k=k)
            runs = number(here[0], "runs")
            title = f"{printed(dataset)}, k = {k:g}, mean of {runs:.0f} runs"
            lines = [
                [LOOKS[str(m)].label, *(_share(_at(here, "accuracy", m, e)) for e in epsilons)]
                for m in values(here, "method")
            ]
            yield markdown([title, *(f"ε = {e:g}" for e in epsilons)], lines)


def nodes(rows: Rows) -> Block:
    """The default against its rivals on every graph; one table per k."""
    return "\n\n".join(markdown(*node_tables.nodes(rows, k)) for k in values(rows, "k"))


def nodes_chosen(rows: Rows) -> Block:
    """The same for one k, and for the methods that are near."""
    return markdown(*node_tables.nodes(rows, node_tables.CHOSEN_K, node_tables.CHOSEN))


def trees(rows: Rows) -> Block:
    """Accuracy of every tree, with Student's 95 % intervals over the repetitions."""
    found = []
    epsilons = values(rows, "epsilon")
    for dataset in values(rows, "dataset"):
        for depth in values(rows, "depth"):
            here = where(rows, dataset=dataset, depth=depth)
            lines = [
                [LOOKS[str(m)].label, *(_percent(_each(here, m, e)) for e in epsilons)]
                for m in values(here, "method")
            ]
            header = ["method", *(f"ε = {e:g}" for e in epsilons)]
            title = f"### {printed(str(dataset))}, depth {depth:g}"
            found.append(f"{title}\n\n{markdown(header, lines)}")
    return "\n\n".join(found)


CHOSEN_TREES = (
    "em", "em-fair", "ld", "sld", "sld-pf", "sulq", "dampen", "dampen-depth", "plain",
)  # fmt: skip


def trees_chosen(rows: Rows) -> Block:
    """Percent correct at depth 5, two ε, the methods worth a word."""
    settings = [(d, e) for d in values(rows, "dataset") for e in (0.05, 0.5)]
    header = ["depth 5", *(f"{printed(str(d))}, ε = {e:g}" for d, e in settings)]
    lines = [
        [LOOKS[m].label]
        + [
            f"{100 * fmean(_each(where(rows, dataset=d, depth=5.0), m, e)):.1f}"
            for d, e in settings
        ]
        for m in CHOSEN_TREES
    ]
    return markdown(header, lines)


TREE_CLAIMS = (
    ("LD improves on EM by up to 5 %", "ld", ("nltcs", "acs", "adult")),
    ("SLD on ACS by up to 8 %", "sld", ("acs",)),
    ("SLD on Adult by up to 4 %", "sld", ("adult",)),
    ("dampen", "dampen", ("nltcs", "acs", "adult")),
)


def tree_gains(rows: Rows) -> Block:
    """Largest and smallest paired differences to EM, in points, with 95 % intervals."""
    header = ["claim, or method", "against EM as printed", "against EM one-sided"]
    lines = []
    for text, method, tables in TREE_CLAIMS:
        cells = []
        for control in ("em", "em-fair"):
            gains = sorted(_gains(rows, method, control, tables))
            cells.append(f"from {gains[0][1]} to {gains[-1][1]}")
        lines.append([text, *cells])
    return markdown(header, lines)


def _gains(
    rows: Rows, method: str, control: str, tables: Sequence[str]
) -> Iterator[tuple[float, str]]:
    for dataset in tables:
        for depth in values(rows, "depth"):
            here = where(rows, dataset=dataset, depth=depth)
            for e in values(here, "epsilon"):
                pairs = zip(_each(here, method, e), _each(here, control, e), strict=True)
                gain = [a - b for a, b in pairs]
                place = f"{printed(dataset)}, depth {depth:g}, ε = {e:g}"
                yield fmean(gain), f"{_percent(gain, sign='+')} ({place})"


def official_split(rows: Rows) -> Block:
    """Adult's official split: ours, and the best of the others on the test part."""
    return markdown(*split_rows(rows))


def split_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """One line per ε."""
    header = ["ε", "depth", "dampen", "parts swapped", "best dampened tree", "SLD as in the paper"]
    header += ["simple tree (max, multiway)", "not private"]
    lines = []
    for e in values(rows, "epsilon"):
        here = where(rows, epsilon=e)
        ours, swapped = (where(here, method=m)[0] for m in split.OURS)
        best = [_best(here, names) for names in (split.DAMPENED, ("sld",), ("max-multiway",))]
        plain = _best(here, ("plain",))
        cells = [_with_deviation(ours), _with_deviation(swapped), *best, plain]
        lines.append([f"{e:g}", f"{number(ours, 'depth'):g}", *cells])
    return header, lines


def _with_deviation(row: dict[str, Value]) -> str:
    return f"{_share(number(row, 'accuracy'), 3)} ± {_share(number(row, 'deviation'), 3)}"


def _best(rows: Rows, methods: Sequence[str]) -> str:
    row = max((r for r in rows if r["method"] in methods), key=lambda row: number(row, "accuracy"))
    how = f"{LOOKS[str(row['method'])].label}, " if len(methods) > 1 else ""
    return f"{_share(number(row, 'accuracy'), 3)} ({how}depth {number(row, 'depth'):g})"


def labels(rows: Rows) -> Block:
    """Expected error of every mechanism for labels, as ratios to LD."""
    methods = values(rows, "method")
    lines = []
    for e in values(rows, "epsilon"):
        found = [ratios(rows, m, e) for m in methods]
        lines.append([f"{e:g}", "mean", *(f"{geometric_mean(r):.2f}" for r in found)])
        lines.append([f"{e:g}", "worst", *(f"{max(r):.2f}" for r in found)])
    return markdown(["ε", "ratio to LD", *(LOOKS[str(m)].label for m in methods)], lines)


def many(rows: Rows) -> Block:
    """Rank errors of whole lists of percentiles."""
    return markdown(*many_rows(rows))


def reductions(rows: Rows) -> Block:
    """The largest reduction of LD's expected error against EM's, beside the paper's."""
    lines = [
        [
            printed(name),
            *(f"{largest_reduction(rows, name, p):.1f}" for p in (50, 90, 99)),
            of_paper,
        ]
        for name, of_paper in PRINTED_REDUCTIONS.items()
    ]
    return markdown(["data", "p = 50", "p = 90", "p = 99", "the paper"], lines)


def peers(rows: Rows) -> Block:
    """Rank errors beside other libraries'."""
    return markdown(*peer_rows(rows))


def peer_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """One line per question, one column per library."""
    methods = values(rows, "method")
    asked = dict.fromkeys((r["dataset"], r["epsilon"], r["p"]) for r in rows)
    lines = [
        [
            printed(str(d)),
            f"{e:g}",
            f"{p:g}",
            *(_error(where(rows, dataset=d, epsilon=e, p=p, method=m)[0]) for m in methods),
        ]
        for d, e, p in asked
    ]
    return ["data", "ε", "p", *(LOOKS[str(m)].label for m in methods)], lines


def groups(rows: Rows) -> Block:
    """What ε the best group takes."""
    return markdown(*group_rows(rows))


def list_rule(rows: Rows) -> Block:
    """Ratios to the better of halving and the joint draw, and the threshold without a column."""
    without = {name: (threshold, worst) for name, threshold, worst in left_out(rows)}
    header = ["column", "rows", "points", "largest ratio", "threshold without it", "ratio with it"]
    shown = []
    for name in dict.fromkeys(str(row["dataset"]) for row in rows):
        here = where(rows, dataset=name)
        threshold, worst = without[name]
        largest = max(number(row, "ratio") for row in here)
        facts = [f"{number(here[0], fact):,.0f}" for fact in ("rows", "points")]
        shown.append([printed(name), *facts, f"{largest:.2f}", f"{threshold:.2f}", f"{worst:.2f}"])
    return markdown(header, shown)


def growing(rows: Rows) -> Block:
    """Means over graphs, and how often what is found falls from one ε to the next."""
    steps = sorted({number(row, "epsilon") for row in rows})
    header = ["measure", *(f"ε = {e:,.0f}" for e in steps), "falls"]
    shown = []
    for measure in dict.fromkeys(str(row["measure"]) for row in rows):
        here = where(rows, measure=measure)
        means = [fmean(number(row, "found") for row in where(here, epsilon=e)) for e in steps]
        graphs = dict.fromkeys(str(row["graph"]) for row in here)
        each = [where(here, graph=graph) for graph in graphs]
        fallen = sum(losses.falls(a, b) for one in each for a, b in pairwise(one))
        pairs = sum(len(one) - 1 for one in each)
        shown.append([measure, *(_share(mean) for mean in means), f"{fallen} of {pairs}"])
    return markdown(header, shown)


def accuracy_bounds(rows: Rows) -> Block:
    """What is stated, how often it holds, how tight it is."""
    known = ["question", "data", "ε", "stated", "holds in", "a third holds in", "real", "ratio"]
    header = [*known, "evenly spread", "holds in", "ratio"]
    shown = []
    for row in rows:
        stated, real = (f"{number(row, name):,.4g}" for name in ("stated", "real"))
        shares = [_share(number(row, name)) for name in ("held", "third")]
        ratio = str(row["ratio"]) + (", depends on gaps" if row["gaps"] else "")
        known = [str(row["question"]), str(row["data"]), f"{number(row, 'epsilon'):g}"]
        usual = ["", "", ""]
        if row["usual"] != "":
            held = _share(number(row, "usual_held"))
            usual = [f"{number(row, 'usual'):,.4g}", held, str(row["usual_ratio"])]
        shown.append([*known, f"{stated} {row['unit']}", *shares, real, ratio, *usual])
    return markdown(header, shown)


def _error(row: dict[str, Value]) -> str:
    if isinstance(row["error"], str):
        return row["error"]
    spread = f" ± {number(row, 'spread'):.2f}" if row["runs"] else ""
    return f"{row['error']:.2f}{spread}"


def _at(rows: Rows, y: str, method: Value, epsilon: Value) -> float:
    return curve(where(rows, epsilon=epsilon), "epsilon", y, method=method)[1][0]


def _each(rows: Rows, method: Value, epsilon: Value) -> list[float]:
    """Accuracies by repetition, in its order."""
    return [number(row, "accuracy") for row in where(rows, method=method, epsilon=epsilon)]


def _percent(found: Sequence[float], sign: str = "") -> str:
    """Mean and half-width of Student's 95 % interval, in per cent."""
    from scipy.stats import t

    shown = f"{100 * fmean(found):{sign}.1f}"
    if len(found) < 2:
        return shown
    half = t.ppf(0.975, len(found) - 1) * stdev(found) / len(found) ** 0.5
    return f"{shown} ± {100 * half:.1f}"


def _share(value: float, digits: int = 2) -> str:
    """A share without its leading zero.

    >>> _share(0.5), _share(1.0)
    ('.50', '1.00')
    """
    return f"{value:.{digits}f}".removeprefix("0")


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


ALONE = ("claims", "runs")
"""Tables from findings, and from the record as a whole."""
WHOLE: dict[str, tuple[Sequence[str], Callable[[Tables], tuple[list[str], list[list[str]]]]]] = {
    "results": (results.STUDIES, results.results),
    "losses": (losses.STUDIES, losses.losses),
}
"""Tables from several studies: which, and how they are made."""
MAKERS: dict[str, tuple[str, Callable[[Rows], Block]]] = {
    "table-1": ("privatesql", private_sql),
    "topk": ("topk", top_k),
    "nodes": ("nodes", nodes),
    "nodes-chosen": ("nodes", nodes_chosen),
    "nodes-summary": ("nodes", lambda rows: markdown(*node_tables.summary(rows))),
    "nodes-sweep": ("sweep", lambda rows: markdown(*node_tables.sweep(rows))),
    "node-limits": ("nodes", lambda rows: markdown(*node_tables.limits(rows))),
    "centralities": ("centralities", lambda rows: markdown(*node_tables.centralities(rows))),
    "growing": ("growing", growing),
    "trees": ("trees", trees),
    "trees-chosen": ("trees", trees_chosen),
    "tree-gains": ("trees", tree_gains),
    "split": ("split", official_split),
    "labels": ("labels", labels),
    "list-rule": ("list-rule", list_rule),
    "accuracy-bounds": ("accuracy-bounds", accuracy_bounds),
    "two-stages": ("two-stages", lambda rows: markdown(*stage_tables.two_stages(rows))),
    "next-to-gaps": ("two-stages", lambda rows: markdown(*stage_tables.next_to_gaps(rows))),
    "shift": ("shift", lambda rows: markdown(*stage_tables.own_problems(rows))),
    "several-labels": ("several-labels", lambda rows: markdown(*stage_tables.several(rows))),
    "reductions": ("percentiles", reductions),
    "peers": ("peers", peers),
    "groups": ("groups", groups),
    "caution": ("caution", lambda rows: markdown(*caution_rows(rows, DEVELOPMENT))),
    "caution-further": ("caution", lambda rows: markdown(*caution_rows(rows, FURTHER))),
    "people": ("people", lambda rows: markdown(*people_rows(rows))),
    "people-values": ("people-values", lambda rows: markdown(*people_value_rows(rows))),
    "key-names": ("key-names", lambda rows: markdown(*key_rows(rows))),
    "key-rule": ("key-names", lambda rows: markdown(*key_rule_rows(rows))),
    "names": ("names", lambda rows: markdown(*name_rows(rows))),
    "unbounded": ("unbounded", lambda rows: markdown(*unbounded_rows(rows))),
    "unbounded-numbers": (
        "unbounded-numbers",
        lambda rows: markdown(*unbounded_number_rows(rows)),
    ),
    "models": ("models", lambda rows: markdown(*model_tables.models(rows))),
    "models-summary": ("models", lambda rows: markdown(*model_tables.models_summary(rows))),
    "bins": ("bins", lambda rows: markdown(*model_tables.bins(rows))),
    "which-model": ("bins", lambda rows: markdown(*model_tables.which_model(rows))),
    "rivals": ("rivals", lambda rows: markdown(*model_tables.rivals(rows))),
    "rival-losses": ("rivals", lambda rows: markdown(*model_tables.rival_losses(rows))),
    "regression": ("regression", lambda rows: markdown(*model_tables.regression(rows))),
    "regression-summary": (
        "regression",
        lambda rows: markdown(*model_tables.regression_summary(rows)),
    ),
    "criteria": ("criteria", lambda rows: markdown(*model_tables.criteria(rows))),
    "many": ("many", many),
}
"""A table's name, the study it comes from, and how it is made."""
