"""The `dampen` command: parse, one library call, print.

Exit codes: 0 done; 1 a check failed, or an error of dampen itself; 2 a wrong parameter or a
refused budget, nothing charged; 3 bad data, the charge stands; 130 interrupted.
"""

import sys
from collections.abc import Sequence

from dampen.cli.lazy import Lazy, LazyGroup

COMMANDS = {
    "top-k": Lazy("dampen.cli.influence", "top_k", "The most influential nodes of a graph."),
    "percentile": Lazy(
        "dampen.cli.columns", "percentile", "Who, or what value, is at the p-th percentile."
    ),
    "most-frequent": Lazy("dampen.cli.columns", "most_frequent", "The most frequent categories."),
    "tree": Lazy("dampen.cli.trees", "tree", "Grow a private decision tree."),
    "predict": Lazy("dampen.cli.trees", "predict", "Predict the rows of a file with a tree."),
    "schema": Lazy("dampen.cli.schema", "schema", "Describe the public columns of a table."),
    "budget": Lazy("dampen.cli.budget", "budget", "Create budgets, show what was spent."),
    "compare": Lazy("dampen.cli.studies", "compare", "Mechanisms side by side, on public data."),
    "verify": Lazy("dampen.cli.proofs", "verify", "The proof kit on a problem of your own."),
    "example": Lazy(
        "dampen.cli.example", "example_command", "The paper's running example, eight nodes."
    ),
    "demo": Lazy("dampen.cli.demo", "demo", "The three applications on small real data."),
    "completion": Lazy("dampen.cli.completion", "completion", "For bash, zsh and fish."),
}

HELP = """Differentially private selection by local dampening.

Which node, which percentile, which category, which tree: each answer costs ε, the privacy
parameter (smaller is more private), and can be charged to a budget that lasts.

\b
  dampen demo
  dampen top-k follows.csv.gz -k 10 --epsilon 0.5
  dampen COMMAND --help     for an example of each
"""


def group() -> LazyGroup:
    """The root of all commands."""
    import click

    from dampen import __version__

    root = LazyGroup("dampen", COMMANDS, HELP)
    return click.version_option(__version__, prog_name="dampen")(root)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with its code."""
    from dampen.cli.running import run

    sys.exit(run(group(), list(sys.argv[1:] if arguments is None else arguments)))
