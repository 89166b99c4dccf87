"""This module reads whether the text of a DDL LCR is one statement about the object and with the command that it names.

An application writes both, and its rights over the named object alone were checked.
"""

from __future__ import annotations

from airflow_ddlrepl.ddl.sql.statement import statements
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.lexer import Kind, Word, tokens
from airflow_ddlrepl.sql.names import WITH_BASE, read
from airflow_ddlrepl.streams.messages import DdlLcr

_REACHING = (
    ("attach",), ("detach",), ("inherit",), ("inherits",), ("references",), ("like",), ("partition", "of"),
    ("owner", "to"), ("set", "schema"), ("owned", "by"), ("depends", "on"), ("set", "tablespace"), ("cascade",),
)  # fmt: skip
"""Words by which a statement is about other objects, too, or about who owns this one."""


def why_not_one(lcr: DdlLcr) -> str:
    """Return why a text is not the one statement that its LCR names; empty: it is."""
    if len(list(statements(lcr.text))) != 1:
        return "it is none, or several"
    reading = read(lcr.text)
    command = f"{reading.operation} {reading.object_type}".strip()
    if command != lcr.command:
        return f"it is {command or 'none that is known'}"
    if len(reading.objects) != 1:
        return "it names no object, or several"
    (first,) = reading.objects
    base = TableName(lcr.base_owner or "", lcr.base_name or "")
    schema = lcr.current_schema
    found = TableName(first.schema or schema, first.name)
    if reading.object_type in WITH_BASE and reading.base is not None:
        on = TableName(reading.base.schema or schema, reading.base.name)
        if on != base:
            return f"it is about {on}, and the LCR about {base}"
        found = TableName(first.schema or on.schema, first.name)
    if found != TableName(lcr.owner or "", lcr.name or ""):
        return f"it is about {found}"
    words = list(tokens(lcr.text))
    reaching = next((one for one in _REACHING if _has(words, one)), None)
    return f"it says {' '.join(reaching).upper()}" if reaching else ""


def _has(words: list[Word], phrase: tuple[str, ...]) -> bool:
    wanted = [Word(Kind.WORD, word) for word in phrase]
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))
