"""`dampen percentile` and `dampen most-frequent`: one column of a table, one answer.

The order of both: parameters, then the header of the file, then the charge, then its rows.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.printing import example
from dampen.cli.releasing import public_lines, release_options, show_release
from dampen.cli.till import Till, rehearse
from dampen.data.tables import Kind, open_table
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from dampen.releases import Budget, Release


@click.command(
    epilog=example(
        "dampen percentile salaries.parquet --column salary --label employee -p 95 \\",
        "  --upper 500000 --epsilon 2",
        "dampen percentile salaries.csv --column salary --release value --step 1000 -p 50,90 \\",
        "  --upper 500000 --epsilon 0.5",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="The private numbers.")
@click.option("--label", help="Public names of the rows. [default: row numbers from 0]")
@click.option(
    "-p",
    "p",
    required=True,
    metavar="P",
    help="Which percentile, 0 to 100; for values also P,P,...",
)
@click.option("--upper", type=float, required=True, help="Public bound; larger values are clipped.")
@click.option("--lower", type=float, default=0.0, show_default=True, help="Public bound.")
@click.option(
    "--release",
    "wanted",
    type=click.Choice(["label", "value"]),
    default="label",
    show_default=True,
    help="Which row is there, or what value.",
)
@click.option("--step", type=float, help="For values: the width of the public grid.")
@release_options
def percentile(
    *,
    file: Path,
    column: str,
    label: str | None,
    till: Till,
    as_json: bool,
    **options: Any,
) -> None:
    """Releases who, or what value, is at the P-th percentile of a column of FILE.

    Protects each row's value (neighbours: replace one). The number of rows and their labels are
    public.
    """
    from dampen.percentiles.release import percentile as release_percentile

    options["release"] = options.pop("wanted")
    several = [part.strip() for part in options["p"].split(",")]
    options["p"] = several if len(several) > 1 else several[0]
    if label is not None and options["release"] == "value":
        raise ParameterError("Expected --label only where a label is released, not a value.")

    def ask(values: Any, labels: Any, budget: "Budget | None") -> "Release":
        return release_percentile(
            values, labels=None if label is None else labels, budget=budget, **options
        )

    cost = rehearse(lambda budget: ask([options["lower"]], ["one"], budget))
    table = open_table(file)
    table.require_numbers(column)
    kinds: dict[str, Kind] = {column: "numbers"}
    if label is not None:
        table.require(label)
        kinds[label] = "text"
    till.asked = f"p={','.join(several)} of {column}"
    with till.open():
        till.charge(cost)
        columns = table.read(kinds)
        labels = None if label is None else list(columns[label])
        answer = ask(columns[column], labels, None)
    show_release(answer, till, as_json=as_json, names=("p", several))


@click.command(
    epilog=example(
        "dampen most-frequent visits.csv --column diagnosis --categories flu,cold,covid \\",
        "  --epsilon 0.5",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="The private categories.")
@click.option("--categories", metavar="A,B,...", help="The public list of categories.")
@click.option(
    "--categories-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The same, one per line.",
)
@click.option("-k", "k", type=int, help="How many. [default: one]")
@release_options
def most_frequent(
    *,
    file: Path,
    column: str,
    categories: str | None,
    categories_file: Path | None,
    till: Till,
    as_json: bool,
    **options: Any,
) -> None:
    """Releases the most frequent category, or the k most frequent, of a column of FILE.

    Protects each row (neighbours: add or remove one).
    """
    from dampen.frequency.release import most_frequent as release_most_frequent

    listed = _categories(categories, categories_file)
    table = open_table(file)
    table.require(column)
    till.asked = f"k={options['k'] or 1} of {column}"
    with till.open():
        answer = release_most_frequent(
            Rows(lambda: table.read({column: "text"})[column]),
            categories=listed,
            budget=till,
            **options,
        )
    show_release(answer, till, as_json=as_json)


class Rows:
    """A column that is read when it is iterated over, which a release does after its charge."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __iter__(self) -> Any:
        return iter(self._load())


def _categories(text: str | None, file: Path | None) -> list[str]:
    if (text is None) == (file is None):
        raise ParameterError("Expected either --categories or --categories-file.")
    if text is not None:
        return [word.strip() for word in text.split(",")]
    return public_lines(Path(str(file)))
