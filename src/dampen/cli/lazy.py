"""A click group whose commands are imported when they are called, not when help is shown."""

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

import click

from dampen.errors import did_you_mean


class Lazy(NamedTuple):
    """Where a command is defined, and its line in the help of the group."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """Shows its help from summaries alone; importing a command is left to its use."""

    def __init__(self, name: str, lazy: Mapping[str, Lazy], help: str) -> None:
        super().__init__(name, help=help)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.lazy:
            return None
        module, attribute, _ = self.lazy[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.lazy and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {name!r}.{did_you_mean(name, self.lazy)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in self.lazy.items()])
