"""A click group whose commands are imported when they are called, not when help is shown."""

from collections.abc import Mapping
from importlib import import_module

import click

from dampen.errors import did_you_mean
from dampen.questions import QUESTIONS

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """Shows its help from summaries alone; importing a command is left to its use.

    The command of a question is made from its declaration; any other command `top-k` is the
    function `top_k` of the module `top_k` of `package`.
    """

    def __init__(
        self,
        name: str,
        package: str,
        sections: Mapping[str, Mapping[str, str]],
        help: str,
        epilog: str,
    ) -> None:
        super().__init__(
            name,
            help=help,
            epilog=epilog,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        self.package = package
        self.sections = sections
        self.summaries = {name: text for each in sections.values() for name, text in each.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.summaries:
            return None
        if cmd_name in QUESTIONS:
            from dampen.cli.question_command import question_command

            return question_command(cmd_name)
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{self.package}.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.summaries and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {name!r}.{did_you_mean(name, self.summaries)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, summaries in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl(list(summaries.items()))
