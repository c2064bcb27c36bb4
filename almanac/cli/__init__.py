"""The command line ``almanac``. Exit status 0 done, 1 failed, 2 wrong usage."""

import os
import sys

JSON = "--json"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit status."""
    replace_closed_streams()
    try:
        return run([as_text(word) for word in (sys.argv[1:] if arguments is None else arguments)])
    except KeyboardInterrupt:
        return 130
    finally:
        drop_unwritten()


def run(arguments: list[str]) -> int:
    from almanac.cli.failures import report
    from almanac.cli.screen import screen

    arguments, screen.json = without_json(arguments)
    speak_utf8()
    try:
        from almanac.cli.app import invoke

        status = invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        return 0
    except Exception as error:
        return report(error)
    return status


def without_json(arguments: list[str]) -> tuple[list[str], bool]:
    """``--json`` is taken from wherever it stands, up to a ``--``; every command has it."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != JSON]
    return kept + arguments[end:], len(kept) < end


def as_text(argument: str) -> str:
    """What was typed, with a mark in place of bytes that are no text."""
    return argument.encode(errors="replace").decode()


def speak_utf8() -> None:
    """JSON is UTF-8 whatever the locale, and no title of a page may stop a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def replace_closed_streams() -> None:
    """Let writing to a stdout that was closed fail, as it does to a full one; stderr is not missed."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process


def drop_unwritten() -> None:
    """What could not be written is not tried again when the interpreter ends, which would tell of it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
