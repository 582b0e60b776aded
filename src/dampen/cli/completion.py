"""`dampen completion`: the script that makes a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

from dampen.cli.printing import example


@click.command(
    epilog=example(
        "dampen completion bash > ~/.local/share/bash-completion/completions/dampen",
        "dampen completion fish > ~/.config/fish/completions/dampen.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints a completion script for SHELL; zsh wants it as _dampen in a directory of $fpath."""
    from dampen.cli import group

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click knows no completion for {shell}.")
    click.echo(kind(group(), {}, "dampen", "_DAMPEN_COMPLETE").source())
