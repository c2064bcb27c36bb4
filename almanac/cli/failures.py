"""How a command fails: one line on stderr that says what was wrong and what to do, and an exit status."""

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from typer import Abort
from typer._click.exceptions import ClickException

from almanac.cli.screen import one_line, screen
from almanac.client import ApiProblem, NotRunning
from almanac.settings import WrongSettings

FAILED, WRONG_USAGE = 1, 2


class CommandError(Exception):
    """A command ends here; the message is one sentence."""


class WrongUsage(CommandError):
    """The command line asked for something that cannot be."""


class Failed(CommandError):
    """The command could not do its work; ``document`` and ``text`` are what it has to show for it."""

    def __init__(self, reason: str, document: Any = None, text: str = "") -> None:
        super().__init__(reason)
        self.document, self.text = document, text


def report(error: Exception) -> int:
    """Say what went wrong; the exit status to end with."""
    status, code, sentence = verdict(error)
    sentence = one_line(sentence)
    document, text = (error.document, error.text) if isinstance(error, Failed) else (None, "")
    with contextlib.suppress(OSError):  # an output that cannot be written is no second error
        screen.show(document or {"error": {"code": code, "detail": sentence}}, text)
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        print(f"almanac: {sentence}", file=sys.stderr)
    return status


def verdict(error: Exception) -> tuple[int, str, str]:
    """Exit status, code and sentence of an error."""
    match error:
        case WrongUsage():
            return WRONG_USAGE, "wrong_usage", str(error)
        case ClickException():
            return error.exit_code, "wrong_usage", usage_sentence(error)
        case Abort():  # Ctrl-C or the end of the input, at a question
            return FAILED, "broken_off", "broken off at the question: nothing was done"
        case Failed():
            return FAILED, "failed", str(error)
        case NotRunning():
            return FAILED, error.code, error.detail
        case ApiProblem():
            return WRONG_USAGE if error.status == 422 else FAILED, error.code, error.detail
        case WrongSettings():
            return WRONG_USAGE, "wrong_settings", str(error)
        case OSError(filename=None, strerror=str(why)):  # of a stream: what is not found has a name
            return FAILED, "output", f"what it has to say cannot be written: {why}"
        case OSError(filename=str() | Path() as file, strerror=str(why)):
            return FAILED, "file", (f"{file} cannot be used ({why}): make it readable and writable for who "
                                    "runs Almanac, or move it away")
        case _:
            return FAILED, "internal", surprise(error)


def usage_sentence(error: ClickException) -> str:
    """What the parser says, and where the help is."""
    message = one_line(error.format_message()).replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "almanac"
    return f"{message}: see `{command} --help`"


def surprise(error: Exception) -> str:
    """An error nobody thought of; with ALMANAC_LOG_LEVEL=DEBUG its traceback is printed too."""
    if os.environ.get("ALMANAC_LOG_LEVEL", "").upper() == "DEBUG":
        traceback.print_exception(error)
    return f"failed unexpectedly ({type(error).__name__}: {error}): ALMANAC_LOG_LEVEL=DEBUG shows where"
