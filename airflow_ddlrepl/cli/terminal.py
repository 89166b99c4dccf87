"""Print a command's result to standard output, and everything else to standard error."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from typer import style

from airflow_ddlrepl.errors import DdlReplError, Exit
from airflow_ddlrepl.visible import visible


def redact(text: str) -> str:
    """Return a text without passwords. It takes a part of the configuration, which `--help` does without."""
    from airflow_ddlrepl.config.sections import location

    return location.redact(text)


_COLOURS = {"-": "red", "+": "green"}


class Result(Protocol):
    """A result is what a command found or did."""

    def to_json(self) -> Any:
        """Return the result as JSON values."""

    def text(self) -> str:
        """Return the result as text for a person."""


Work = Result | AbstractContextManager[Result]
"""A command's result; or what opens something and gives the result."""


class Diff:
    """This result's text is a diff, shown in colour on a terminal."""


@dataclass(frozen=True, slots=True)
class Table:
    """This result is a list of rows.

    empty: the sentence that is printed when there are none.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    empty: str

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows as JSON values."""
        return list(self.rows)

    def text(self) -> str:
        """Return the rows as a table of text, or the sentence for an empty list."""
        if not self.rows:
            return self.empty
        cells = [self.columns, *(tuple(_cell(row[c]) for c in self.columns) for row in self.rows)]
        widths = [max(len(line[n]) for line in cells) for n in range(len(self.columns))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells)


@dataclass(frozen=True, slots=True)
class TextResult:
    """This result is a sentence for people and a value for programs."""

    value: Any
    sentence: str

    def to_json(self) -> Any:
        """Return the value."""
        return self.value

    def text(self) -> str:
        """Return the sentence."""
        return self.sentence


def always_done(result: Any) -> Exit:
    """Return the exit code DONE whatever the result."""
    return Exit.DONE


def perform(work: Callable[[], Work], *, as_json: bool, exit_code_of: Callable[[Any], Exit] = always_done) -> Exit:
    """Do the work of a command, print its result or its error, and return the exit code.

    exit_code_of: the exit code that a result means. What the work opens is closed when its result is printed.
    """
    with _output(as_json) as write:
        try:
            found = work()
            with found if isinstance(found, AbstractContextManager) else nullcontext(found) as result:
                code = exit_code_of(result)
                write(_json(result.to_json()) if as_json else _shown(result))
        except DdlReplError as error:
            code = error.exit_code
            _complain(str(error), error)
            if as_json:
                fields = ("code", "message", "target", "table", "at", "hint", "retryable")
                write(_json({"error": {name: _safe(getattr(error, name)) for name in fields}}))
        except Exception as error:  # noqa: BLE001 - the one place where the shell meets what nobody expected
            code = Exit.FAILED
            text = f"unexpected {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            _complain(text + "\n  hint: ddlrepl --debug … shows where it happened; please report it", error)
            if as_json:
                write(_json({"error": {"code": "INT-100", "message": redact(text)}}))
    return code


def start_logging(level: int) -> None:
    """Send our log to standard error, without passwords."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Redacted("%(asctime)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("ddlrepl", "airflow_ddlrepl"):
        logging.getLogger(name).setLevel(level)


class _Redacted(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(redact(super().format(record)))


def is_debugging() -> bool:
    """Return whether `--debug` or DDLREPL_DEBUG is set."""
    return bool(os.environ.get("DDLREPL_DEBUG"))


@contextmanager
def _output(as_json: bool) -> Iterator[Callable[[str], None]]:
    """Give the function that writes to standard output.

    With --json nothing else gets there, not even from Spark's JVM.
    """
    if not as_json:
        if isinstance(sys.stdout, io.TextIOWrapper):  # a letter that the terminal can't show is no failure of the work
            sys.stdout.reconfigure(errors="backslashreplace")
        yield lambda text: print(text, flush=True)
        return
    sys.stdout.flush()
    saved, python = os.dup(1), sys.stdout
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield lambda text: _write(saved, text)
    finally:
        sys.stdout = python
        os.dup2(saved, 1)
        os.close(saved)


def _write(descriptor: int, text: str) -> None:
    rest = memoryview(text.encode() + b"\n")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _complain(text: str, error: BaseException) -> None:
    if is_debugging():
        print(redact("".join(traceback.format_exception(error))), file=sys.stderr)
    print(f"error: {redact(visible(text))}", file=sys.stderr, flush=True)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, default=str)


def _safe(value: Any) -> Any:
    return redact(value) if isinstance(value, str) else value


def _cell(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _shown(result: Result) -> str:
    """Return the result's text, the lines of a diff in colour on a terminal."""
    text = visible(result.text())
    if not isinstance(result, Diff) or not _is_coloured():
        return text
    return "\n".join(style(line, fg=_COLOURS.get(line[:1])) for line in text.splitlines())


def _is_coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
