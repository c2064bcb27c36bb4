"""How a command fails: one line on stderr that says what was wrong and what to do, and an exit status."""

import os
import sys
import traceback
from typing import Any

from typer import TyperException

from almanac.cli.screen import one_line, screen
from almanac.client import ApiProblem, NotRunning

FAILED, WRONG_USAGE = 1, 2


class CommandError(Exception):
    """A command ends here; the message is one sentence."""


class WrongUsage(CommandError):
    """The command line asked for something that cannot be."""


class Failed(CommandError):
    """The command could not do its work; ``document`` is what it has to show for it with ``--json``."""

    def __init__(self, reason: str, document: Any = None) -> None:
        super().__init__(reason)
        self.document = document


def report(error: Exception) -> int:
    """Say what went wrong; the exit status to end with."""
    status, code, sentence = verdict(error)
    sentence = one_line(sentence)
    if screen.json:
        document = error.document if isinstance(error, Failed) and error.document is not None else None
        screen.show(document or {"error": {"code": code, "detail": sentence}}, "")
    print(f"almanac: {sentence}", file=sys.stderr)
    return status


def verdict(error: Exception) -> tuple[int, str, str]:
    """Exit status, code and sentence of an error."""
    match error:
        case WrongUsage():
            return WRONG_USAGE, "wrong_usage", str(error)
        case TyperException():
            return error.exit_code, "wrong_usage", usage_sentence(error)
        case Failed():
            return FAILED, "failed", str(error)
        case NotRunning():
            return FAILED, "not_running", error.detail
        case ApiProblem():
            return WRONG_USAGE if error.status == 422 else FAILED, error.code, error.detail
        case _ if type(error).__module__.partition(".")[0] in {"pydantic_core", "pydantic_settings"}:
            return WRONG_USAGE, "wrong_settings", settings_sentence(error)
        case _:
            return FAILED, "internal", surprise(error)


def usage_sentence(error: TyperException) -> str:
    """What the parser says, and where the help is."""
    message = one_line(error.format_message()).replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "almanac"
    return f"{message}: see `{command} --help`"


def settings_sentence(error: Exception) -> str:
    """The first setting that is wrong; its value is not repeated, since it may be a secret."""
    faults = error.errors(include_input=False) if hasattr(error, "errors") else []
    if not faults:
        return f"the settings cannot be read: {error} (lists are written as JSON)"
    name = "_".join(str(step) for step in faults[0]["loc"]).upper()
    name = name if name.startswith(("ALMANAC_", "KNOWLEDGE_")) else f"ALMANAC_{name}"
    return f"the setting {name} is wrong: {faults[0]['msg']}"


def surprise(error: Exception) -> str:
    """An error nobody thought of; with ALMANAC_LOG_LEVEL=DEBUG its traceback is printed too."""
    if os.environ.get("ALMANAC_LOG_LEVEL", "").upper() == "DEBUG":
        traceback.print_exception(error)
    return f"failed unexpectedly ({type(error).__name__}: {error}): ALMANAC_LOG_LEVEL=DEBUG shows where"
