"""`dampen mcp`: private answers as tools of language-model agents, which never see a row."""

import os
from pathlib import Path

import click

from dampen.cli.output import examples, write
from dampen.errors import ParameterError

__all__ = ["mcp"]


@click.command(
    epilog=examples(
        "dampen token create agent --config dampen.toml",
        "DAMPEN_TOKEN=dampen_... dampen mcp dampen.toml",
        "dampen mcp dampen.toml --http --port 8001",
    )
)
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--http", is_flag=True, help="Listen on HTTP instead of standard input.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 for any."
)
def mcp(*, config: Path, http: bool, host: str, port: int) -> None:
    """Serves the data sets of CONFIG, a dampen.toml, to agents (Model Context Protocol).

    Tokens, budgets, caps and the ledger are those of dampen serve. An agent's program starts this
    command and sets DAMPEN_TOKEN; with --http every request carries its own token. Needs the extra
    dampen[mcp].
    """
    try:
        from dampen.service import agents, running
    except ModuleNotFoundError as error:
        raise ParameterError(
            f'Expected {error.name}, which is in the extra dampen[mcp]: pip install "dampen[mcp]".'
        ) from None
    if http:
        running.run(config, host=host, port=port, say=_say, made=agents.application)
        return
    from dampen.service.configuration import load_configuration
    from dampen.service.workflow import Workflow

    workflow = Workflow.of(load_configuration(config))
    workflow.check()
    agents.run_on_standard_streams(workflow, os.environ.get("DAMPEN_TOKEN", ""))


def _say(address: str, _link: str | None) -> None:
    write(f"Serving agents at {address}mcp")
