"""`dampen token`: who may ask a service."""

from pathlib import Path
from typing import Any, TypeVar

import click

from dampen.cli.options import json_option
from dampen.cli.output import examples, print_json, print_table, write

__all__ = ["token"]

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
    """Tokens of the analysts and curators of a service."""


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
    """Shows who has tokens, and since when; not the tokens."""
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
    from dampen.service.configuration import load_configuration
    from dampen.service.tokens import Tokens

    return Tokens(load_configuration(config).settings.state)
