"""`dampen completion`: the script that makes a shell complete commands, options and values."""

import click
from click.shell_completion import get_completion_class

from dampen.cli.output import examples, write

__all__ = ["completion"]


@click.command(
    epilog=examples(
        "dampen completion bash > ~/.local/share/bash-completion/completions/dampen",
        "dampen completion fish > ~/.config/fish/completions/dampen.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints a completion script for SHELL; zsh wants it as _dampen in a directory of $fpath."""
    from dampen.cli.main import group

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click knows no completion for {shell}.")
    write(kind(group(), {}, "dampen", "_DAMPEN_COMPLETE").source())
