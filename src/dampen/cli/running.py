"""Running a command: every end of it is one line on standard error and one exit code."""

import os
import sys
import traceback
import warnings
from typing import Any

import click

from dampen.cli.printing import complain
from dampen.errors import DampenError, DataError

DONE, FAILED, REFUSED, BAD_DATA, INTERRUPTED = 0, 1, 2, 3, 130


def run(command: click.Command, arguments: list[str]) -> int:
    """Runs a command and returns its exit code; never shows a traceback unless asked to."""
    warnings.showwarning = _show_warning
    try:
        code = command.main(arguments or ["--help"], prog_name="dampen", standalone_mode=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return _end(error)
    return code if isinstance(code, int) else DONE


def _end(error: BaseException) -> int:
    match error:
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message())
            return DONE
        case click.ClickException():
            return _say(_usage(error), error, error.exit_code)
        case KeyboardInterrupt() | click.Abort():
            return _say("Interrupted.", error, INTERRUPTED)
        case DataError():
            return _say(str(error), error, BAD_DATA)
        case DampenError():
            return _say(str(error), error, REFUSED)
        case _:
            return _reader_has_left() if isinstance(error, BrokenPipeError) else _internal(error)


def _say(text: str, error: BaseException, code: int) -> int:
    # click turns an interrupt into an error of its own; the notes stay with its cause.
    notes = [getattr(each, "__notes__", []) for each in (error, error.__cause__)]
    complain(" ".join([text, *notes[0], *notes[1]]))
    return code


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" Try '{context.command_path} --help'." if context else ""
    return " ".join(error.format_message().split()) + hint


def _internal(error: BaseException) -> int:
    # The message of a foreign error may quote private data, so it is shown only on request.
    if os.environ.get("DAMPEN_TRACEBACK"):
        traceback.print_exception(error)
        return FAILED
    text = (
        f"An error of dampen itself or of a library ({type(error).__name__}). Set "
        "DAMPEN_TRACEBACK=1 to see it in full; it may then show private data."
    )
    return _say(text, error, FAILED)


def _reader_has_left() -> int:
    # As `head` does; Python would complain once more when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    complain(str(message), word="warning", colour="yellow")
