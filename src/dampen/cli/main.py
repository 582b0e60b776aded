"""Running `dampen`: its commands, and how each of them ends.

Every end is one line on standard error and one exit code; `--json` makes that line JSON.
"""

# Only what starts fast is imported here, so that Ctrl-C is handled from the first moment on.
import io
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dampen.cli import interrupts
from dampen.questions import Listed

if TYPE_CHECKING:
    import click

    from dampen.cli.lazy import LazyGroup
    from dampen.cli.output import Receipt

__all__ = ["COMMANDS", "EXIT_CODES", "group", "main", "run"]

DONE = 0
FAILED = 1
REFUSED = 2
BAD_DATA = 3
INTERRUPTED = 130

EXIT_CODES = {
    DONE: "done",
    FAILED: "a check failed, the answer could not be printed, or an error of dampen itself",
    REFUSED: "a wrong parameter, an unreadable file or a refused budget; no data was read",
    BAD_DATA: "the data could not be read; a charge stands",
    INTERRUPTED: "interrupted",
}

COMMANDS = {
    "predict": Listed("question_command.predict", "Predict the rows of a file with a model."),
    "draft": Listed("check.draft", "Write a first draft of the public facts of a table."),
    "check": Listed("check.check", "Show how questions read the cells of a table (not private)."),
    "watch": Listed(
        "question_command.watch",
        "Check repeatedly whether there are enough rows; pay once there are.",
    ),
    "sql": Listed("question_command.sql", "Answer one SELECT statement privately."),
    "budget": Listed("budget.budget", "Create budgets and show what was spent."),
    "report": Listed("budget.report", "Write a privacy report from the ledger."),
    "serve": Listed("serve.serve", "Serve questions over HTTP, with a page for browsers."),
    "mcp": Listed("serve.mcp", "Serve questions to language-model agents (MCP)."),
    "token": Listed("serve.token", "Create and revoke the access tokens of a service."),
    "compare": Listed("compare.compare", "Compare mechanisms on public data."),
    "verify": Listed("verify.verify", "Check a problem of your own with the proof kit."),
    "study": Listed("verify.study", "Study a problem of your own: checks, accuracy, advice."),
    "example": Listed("demo.example", "Compute the running example of the paper."),
    "demo": Listed(
        "demo.demo", "Questions about made-up hospital stays, and commands to try next."
    ),
    "completion": Listed("demo.completion", "Print a completion script for bash, zsh or fish."),
}
"""Each is a function of a module of `dampen.cli`; questions make their own commands."""

HELP = """Private answers about people's data: which, and how much, with proof.

The best group, the most frequent category, percentiles, counts and means, influential nodes and
classifiers, with differential privacy for a person, a row or an edge. Each answer costs epsilon
(smaller is more private), and a budget that lasts can pay for it.

\b
  dampen demo               answers on small public data
  dampen QUESTION --help    the options of a question, with examples
  dampen QUESTION --expect  the price and the accuracy of an answer, free
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    interrupts.handle()
    try:
        _secure_streams()
        code = run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # so early that nothing can have been charged
        code = INTERRUPTED
        os.write(2, b"dampen: Interrupted.\n")
    if code == INTERRUPTED:
        # Threads may still be in compiled code, and Python cannot end in peace beside them.
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Runs a command and returns its exit code; never shows a traceback unless asked to."""
    from dampen.cli.output import Receipt

    receipt = Receipt()
    as_json = "--json" in arguments
    try:
        try:
            code = _invoke(arguments or ["--help"], receipt, as_json=as_json)
            interrupts.ignore()
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            code = _end(error, receipt, as_json=as_json)
    except KeyboardInterrupt as late:  # as the first error was about to be told
        code = _end(late, receipt, as_json=as_json)
    return code


def group() -> "LazyGroup":
    """The root of all commands."""
    import click

    from dampen import __version__
    from dampen.cli.lazy import LazyGroup
    from dampen.questions import QUESTIONS

    sections = {"Questions": QUESTIONS, "Other commands": COMMANDS}
    codes = "".join(f"  {code:<5}{meaning}\n" for code, meaning in EXIT_CODES.items())
    root = LazyGroup("dampen", sections, HELP, f"\b\nExit codes:\n{codes}")
    return click.version_option(__version__, prog_name="dampen")(root)


def _secure_streams() -> None:
    """Replaces closed streams, and makes sure that every message can be written."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if not os.environ.get("DAMPEN_TRACEBACK"):
        # What Python tells of errors that nobody catches may quote private data.
        sys.unraisablehook = lambda _: None
        threading.excepthook = lambda _: None


def _invoke(arguments: list[str], receipt: "Receipt", *, as_json: bool) -> int:
    import click

    from dampen.cli.lazy import in_options
    from dampen.cli.output import show_warnings, write
    from dampen.errors import DampenError

    if "_DAMPEN_COMPLETE" in os.environ:
        return _complete(arguments)
    show_warnings(as_json=as_json)
    try:
        root = group()
        with root.make_context("dampen", arguments, obj=receipt) as context:
            try:
                root.invoke(context)
            except DampenError as error:
                error.args = (in_options(str(error), _command(root, context, arguments)),)
                raise
    except click.exceptions.NoArgsIsHelpError as asked:
        write(asked.format_message())
    except click.exceptions.Exit as done:
        return done.exit_code
    return DONE


def _command(root: "LazyGroup", context: "click.Context", arguments: list[str]) -> "click.Command":
    """The command that was called; in a group, such as `compare`, the one below it."""
    import click

    command: click.Command = root.get_command(context, context.invoked_subcommand or "") or root
    for word in arguments:
        if isinstance(command, click.Group) and command is not root:
            command = command.get_command(context, word) or command
    return command


def _complete(arguments: list[str]) -> int:
    """Prints the completions that a shell asks for by environment variables."""
    try:
        group().main(arguments, prog_name="dampen")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else DONE


def _end(error: BaseException, receipt: "Receipt", *, as_json: bool) -> int:
    """Prints how a command ended, and returns its exit code."""
    interrupts.ignore()
    from dampen.cli.output import complain
    from dampen.cli.question_command import Undelivered

    code, text = _told(error, receipt)
    if text:
        answer = error.answer if isinstance(error, Undelivered) else None
        facts = {"exit_code": code, "meaning": EXIT_CODES[code], "charge": receipt.charged}
        complain(text, facts if as_json else None, answer=answer)
    return code


def _told(error: BaseException, receipt: "Receipt") -> tuple[int, str]:
    """The exit code and the message of an error; an empty message prints nothing."""
    import click

    from dampen.cli.question_command import Undelivered
    from dampen.errors import DampenError, DataError

    if interrupts.happened() or isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED, f"Interrupted. {receipt.told}".strip()
    match error:
        case click.ClickException():
            return error.exit_code, _usage(error)
        case DampenError():
            bad = isinstance(error, DataError) or receipt.charged is not None
            return (BAD_DATA if bad else REFUSED), str(error)
        case Undelivered():
            return FAILED, str(error)
    return _told_of_others(error, receipt)


def _told_of_others(error: BaseException, receipt: "Receipt") -> tuple[int, str]:
    from dampen.cli.output import Unprinted

    unprinted = Unprinted.of(error)
    if unprinted is not None:
        return (DONE, "") if unprinted.reader_left else (FAILED, str(unprinted))
    return FAILED, f"{_internal(error)} {receipt.told}".strip()


def _usage(error: "click.ClickException") -> str:
    context = getattr(error, "ctx", None)
    hint = f" Try '{context.command_path} --help'." if context else ""
    told = " ".join(error.format_message().split())
    if told.startswith("Got unexpected extra argument"):
        told += ". Write a list with commas, such as A,B,C"
    return (told if told.endswith((".", "?", ")")) else f"{told}.") + hint


def _internal(error: BaseException) -> str:
    # The message of a foreign error may quote private data, so it is shown only on request.
    if os.environ.get("DAMPEN_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    return (
        f"dampen or one of its libraries failed ({type(error).__name__}). Set "
        "DAMPEN_TRACEBACK=1 to see the whole error, which may show private data."
    )
