"""A click group that imports commands late, and messages in the words of the command line.

- `LazyGroup`: commands are imported when they are called, not when help is shown.
- `in_options`: the library's messages with the options of a command in place of its parameters.
"""

import re
from collections.abc import Mapping
from importlib import import_module

import click

from dampen.questions import QUESTIONS, Listed, which_question

__all__ = [
    "LazyGroup",
    "in_options",
]


class LazyGroup(click.Group):
    """A group that shows its help from summaries, and imports a command when it is called.

    The command of a question is made from its declaration; any other command is a function of a
    module of `dampen.cli`.
    """

    def __init__(
        self,
        name: str,
        sections: Mapping[str, Mapping[str, Listed]],
        help: str,
        epilog: str,
    ) -> None:
        super().__init__(
            name,
            help=help,
            epilog=epilog,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        self.sections = sections
        self.listed = {name: listed for each in sections.values() for name, listed in each.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.listed:
            return None
        if cmd_name in QUESTIONS:
            from dampen.cli.question_command import question_command

            return question_command(cmd_name)
        module, _, name = self.listed[cmd_name].location.rpartition(".")
        command: click.Command = getattr(import_module(f"dampen.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.listed and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {name!r}.{which_question(name, self.listed)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, section in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, listed.summary) for name, listed in section.items()])


BEFORE = "("
AFTER = ".,;:)"
IN_PYTHON = re.compile(r" In Python, \w+=[^.]*\.(?= |$)")
NUMBER = re.compile(r"(\w+=)'([0-9.]+(?:e-?[0-9]+)?)'")


def in_options(text: str, command: click.Command) -> str:
    """A message in which `min_rows=` is written as the command line has it, `--min-rows`.

    A word is replaced only if it is exactly a reference to a parameter of this command: `name=`,
    `name=True` of a flag, `name='word'` of an option with choices, `name=[...]` of a list and a
    number in quotes, `name='0.5'`.
    Everything else stays, so no path and no value can be changed.  What can be written in Python
    alone is left out.

    >>> groups = click.Option(["--groups"], metavar="A,B,...")
    >>> header = click.Option(["--header"], is_flag=True)
    >>> command = click.Command("ask", params=[groups, header])
    >>> in_options("Pass groups=, a list (header=True). Cannot read groups=1/a.csv.", command)
    'Pass --groups, a list (--header). Cannot read groups=1/a.csv.'
    >>> in_options("Expected groups=. In Python, public='data' takes them from the data.", command)
    'Expected --groups.'
    >>> epsilon = click.Command("ask", params=[click.Option(["--epsilon"])])
    >>> in_options("Expected epsilon=, such as epsilon='1e-3'.", epsilon)
    'Expected --epsilon, such as --epsilon 1e-3.'
    """
    references: dict[str, str] = {}
    for option in command.params:
        if isinstance(option, click.Option):
            references |= _references(option)
    typed = IN_PYTHON.sub("", text)
    return " ".join(_replaced(word, references) for word in typed.split(" "))


def _references(option: click.Option) -> dict[str, str]:
    spelling = max(option.opts, key=lambda opt: (opt.lstrip("-") == option.name, -len(opt)))
    references = {f"{option.name}=": spelling}
    if option.is_flag:
        references[f"{option.name}=True"] = spelling
    if option.metavar is not None:
        references[f"{option.name}=[...]"] = f"{spelling} {option.metavar}"
    for choice in getattr(option, "choices", ()):
        references[f"{option.name}={choice!r}"] = f"{spelling} {choice}"
    return references


def _replaced(word: str, references: dict[str, str]) -> str:
    core = word.lstrip(BEFORE)
    start = word[: len(word) - len(core)]
    if core in references:
        return start + references[core]
    bare = core.rstrip(AFTER)
    end = core[len(bare) :]
    quoted = NUMBER.fullmatch(bare)
    if quoted is not None and quoted[1] in references:
        return f"{start}{references[quoted[1]]} {quoted[2]}{end}"
    return start + references[bare] + end if bare in references else word
