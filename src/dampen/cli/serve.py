"""Commands of a service: it runs on the curator's machine, and analysts never hold the data.

- `dampen serve`: questions over HTTP and a page.
- `dampen token`: who may ask a service.
- `dampen mcp`: private answers as tools of language-model agents, which never see a row.
"""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click

from dampen.cli.options import json_option
from dampen.cli.output import examples, print_json, print_table, write
from dampen.errors import ParameterError

__all__ = ["mcp", "serve", "token"]


@click.command(
    epilog=examples(
        "dampen serve --demo",
        "dampen token create ana --config dampen.toml",
        "dampen serve dampen.toml --check",
        "dampen serve dampen.toml",
    )
)
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Check the configuration and stop; reads no row.")
@click.option("--demo", is_flag=True, help="Serve small made-up data instead.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 for any free port.",
)
def serve(*, config: Path | None, check: bool, demo: bool, host: str, port: int) -> None:
    """Serves the data sets of CONFIG to analysts with tokens.

    CONFIG is a dampen.toml, by default $DAMPEN_CONFIG, else dampen.toml.

    If no curator has a token yet, it prints a link that makes its first visitor the administrator.
    By default it listens only on this machine; use a reverse proxy for TLS. Needs the extra
    dampen[serve].
    """
    try:
        from dampen.service import app
    except ModuleNotFoundError as error:
        raise _serve_is_missing(error) from None
    with ExitStack() as stack:
        if demo and config is not None:
            raise ParameterError("Expected either CONFIG, a dampen.toml, or --demo.")
        if demo:
            from dampen.cli.demo import write_service

            config = write_service(Path(stack.enter_context(TemporaryDirectory())))
        config = config or _usual_config()
        if check:
            write("\n".join(app.check(config)))
            return
        app.run(config, host=host, port=port, say=_say)


def _usual_config() -> Path:
    """The file that other commands take by themselves."""
    usual = Path(os.environ.get("DAMPEN_CONFIG") or "dampen.toml")
    if not usual.is_file():
        raise ParameterError(
            f"There is no {usual}. Pass the file that lists your data sets, such as "
            "`dampen serve dampen.toml`, or --demo for made-up data."
        )
    return usual


def _say(address: str, link: str | None) -> None:
    write(f"Serving at {address}")
    if link is not None:
        write(f"Login link for the administrator, valid once and for 15 minutes: {link}")


F = TypeVar("F", bound=Any)


def _config(command: F) -> F:
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        default=Path("dampen.toml"),
        show_default=True,
        help="The configuration of the service.",
    )(command)


@click.group(
    epilog=examples("dampen token create ana", "dampen token list", "dampen token revoke ana")
)
def token() -> None:
    """Creates, lists and revokes the tokens of analysts and curators."""


@token.command(epilog=examples("dampen token create ana --role analyst"))
@click.argument("analyst")
@click.option(
    "--role", type=click.Choice(["analyst", "curator"]), default="analyst", show_default=True
)
@_config
def create(analyst: str, role: str, config: Path) -> None:
    """Prints a new token for ANALYST, once; only its hash is kept."""
    write(_tokens(config).create(analyst, role))


@token.command(name="list", epilog=examples("dampen token list"))
@_config
@json_option
def list_(config: Path, as_json: bool) -> None:
    """Lists who has a token and since when, without the tokens."""
    columns = ["id", "analyst", "role", "created", "revoked"]
    rows = [[getattr(each, name) or "" for name in columns] for each in _tokens(config).tokens()]
    if as_json:
        print_json([dict(zip(columns, map(str, row), strict=True)) for row in rows])
    else:
        print_table(columns, rows)


@token.command(epilog=examples("dampen token revoke ana"))
@click.argument("who")
@_config
def revoke(who: str, config: Path) -> None:
    """Ends the token of an id, or all tokens of an analyst, at once."""
    ended = _tokens(config).revoke(who)
    write("\n".join(f"Revoked {each.id} of {each.analyst}." for each in ended))


def _tokens(config: Path) -> Any:
    try:
        from dampen.service.configuration import load_configuration
        from dampen.service.tokens import Tokens
    except ModuleNotFoundError as error:
        raise _serve_is_missing(error) from None
    return Tokens(load_configuration(config).settings.state)


def _serve_is_missing(error: ModuleNotFoundError) -> ParameterError:
    return ParameterError(
        f'Expected {error.name}, which is in the extra dampen[serve]: pip install "dampen[serve]".'
    )


@click.command(
    epilog=examples(
        "dampen token create agent --config dampen.toml",
        "DAMPEN_TOKEN=dampen_... dampen mcp dampen.toml",
        "dampen mcp dampen.toml --http --port 8001",
    )
)
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--http", is_flag=True, help="Listen on HTTP instead of standard input.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="0 for any free port.",
)
def mcp(*, config: Path, http: bool, host: str, port: int) -> None:
    """Serves the data sets of CONFIG, a dampen.toml, to agents (Model Context Protocol).

    Tokens, budgets, caps and the ledger are those of dampen serve. An agent's program starts this
    command and sets DAMPEN_TOKEN; with --http every request carries its own token. Needs the extra
    dampen[mcp].
    """
    try:
        from dampen.service import agents, app
    except ModuleNotFoundError as error:
        raise ParameterError(
            f'Expected {error.name}, which is in the extra dampen[mcp]: pip install "dampen[mcp]".'
        ) from None
    if http:
        app.run(config, host=host, port=port, say=_print_address, made=agents.application)
        return
    from dampen.service.configuration import load_configuration
    from dampen.service.workflow import Workflow

    workflow = Workflow.of(load_configuration(config))
    workflow.check()
    agents.run_on_standard_streams(workflow, os.environ.get("DAMPEN_TOKEN", ""))


def _print_address(address: str, _link: str | None) -> None:
    write(f"Serving agents at {address}mcp")
