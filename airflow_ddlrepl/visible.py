"""Names, statements and values of databases are shown so that none of their characters acts on the reader's screen.

A name may hold commands of a terminal, a change of the writing direction that makes a line read otherwise, or a line
break behind which it looks like a line of ours. On Airflow's page of a log, `::group::` hides lines.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

FOLDING = re.compile(r":(?=:(?:end)?group::)")
"""The first character of what folds lines on Airflow's page of a log, and hides the line that it stands in."""


def visible(text: str) -> str:
    """Return the text with each control or format character escaped; line breaks and tabs stay."""
    if is_visible(text):
        return text
    return FOLDING.sub(r"\\x3a", "".join(c if c.isprintable() or c in "\n\t" else _escaped(c) for c in text))


def is_visible(text: str) -> bool:
    """Return whether a text can be shown in one line as it is."""
    return text.isprintable() and "group::" not in text


def one_line(text: str) -> str:
    """Return the text in one line: a line break is escaped, too."""
    return text if is_visible(text) else visible(text).replace("\n", "\\n")


def as_lines(lines: Iterable[str]) -> str:
    """Return these lines as a text; what would break one of them is escaped."""
    return "\n".join(map(one_line, lines))


def continued(text: str) -> str:
    """Return a text of one or several lines; no line but the first begins at the margin."""
    return visible(text).replace("\n", "\n    ")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class VisibleOnly(logging.Filter):
    """This filter of a logger escapes what a message would do to a screen, whoever shows it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record's message where it has such characters; let every record pass."""
        if isinstance(record.args, tuple):  # an error may have several lines; a text, or a name, has one
            record.args = tuple(one_line(str(a)) if isinstance(a, str | tuple) else a for a in record.args)
        message = record.getMessage()
        if not is_visible(message):
            record.msg, record.args = continued(message), None
        return True


def install() -> None:
    """Have all our loggers show messages so. It may be called again."""
    for name in ("ddlrepl", "airflow.task.ddlrepl"):
        logger = logging.getLogger(name)
        if not any(isinstance(one, VisibleOnly) for one in logger.filters):
            logger.addFilter(VisibleOnly())
