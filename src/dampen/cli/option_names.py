"""The library's messages with the options of a command in place of its parameters."""

import click

__all__ = ["in_options"]

BEFORE = "("
AFTER = ".,;:)"


def in_options(text: str, command: click.Command) -> str:
    """A message in which `min_rows=` is written as the command line has it, `--min-rows`.

    A word is replaced only if it is exactly a reference to a parameter of this command: `name=`,
    `name=True` of a flag, `name='word'` of an option with choices and `name=[...]` of a list.
    Everything else stays, so no path and no value can be changed.

    >>> groups = click.Option(["--groups"], metavar="A,B,...")
    >>> header = click.Option(["--header"], is_flag=True)
    >>> command = click.Command("ask", params=[groups, header])
    >>> in_options("Pass groups=, a list (header=True). Cannot read groups=1/a.csv.", command)
    'Pass --groups, a list (--header). Cannot read groups=1/a.csv.'
    """
    references: dict[str, str] = {}
    for option in command.params:
        if isinstance(option, click.Option):
            references |= _references(option)
    return " ".join(_replaced(word, references) for word in text.split(" "))


def _references(option: click.Option) -> dict[str, str]:
    spelling = max(option.opts, key=len)
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
    return start + references[bare] + end if bare in references else word
