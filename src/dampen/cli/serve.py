"""`dampen serve`: questions over HTTP and a page, so that analysts never hold the data."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from dampen.cli.output import examples, write
from dampen.errors import ParameterError

__all__ = ["serve"]


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
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any."
)
def serve(*, config: Path | None, check: bool, demo: bool, host: str, port: int) -> None:
    """Serves the data sets of CONFIG, a dampen.toml, to analysts with tokens.

    Without a curator's token yet, prints a link that makes its first visitor the administrator.
    Listens on this machine alone unless told otherwise; TLS is a reverse proxy's. Needs the extra
    dampen[serve].
    """
    try:
        from dampen.service import running
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"Expected {error.name}, which is in the extra dampen[serve]: "
            'pip install "dampen[serve]".'
        ) from None
    with ExitStack() as stack:
        if demo == (config is not None):
            raise ParameterError("Expected either CONFIG, a dampen.toml, or --demo.")
        if config is None:
            from dampen.cli.demo_files import write_service

            config = write_service(Path(stack.enter_context(TemporaryDirectory())))
        if check:
            write("\n".join(running.check(config)))
            return
        running.run(config, host=host, port=port, say=_say)


def _say(address: str, link: str | None) -> None:
    write(f"Serving at {address}")
    if link is not None:
        write(f"For the administrator, once and within a quarter of an hour: {link}")
