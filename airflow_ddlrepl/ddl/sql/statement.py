"""This module reads the text of a DDL statement as evidence, never as truth: what can the text rule out?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.ddl.sql.conversion import Conversion, computed, conversions
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.stored_names import SCHEMA_PATH, SYSTEM_SCHEMA
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.sql.lexer import Kind, Word, tokens

# Statements that run no other statement: a query string of these alone says all that was run.
_PLAIN = frozenset(
    ("alter", "drop", "comment", "grant", "revoke", "begin", "start", "commit", "end", "set", "reset", "truncate")
)


RUN = "query_started"
"""Of an event's settings: when the server got the query string of which the statement is one of many."""
_MASKED = "'***'"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence is what is known about how a change came about; None: not known.

    has_using: the statement may have computed new values by a USING clause. rewritten: the server wrote the
    table's rows again. filled: the table held rows before the log carried it. timezone: of the session.
    conversions: per column of an ALTER TABLE whose text is known, how its type was changed.
    """

    has_using: bool | None = None
    rewritten: bool | None = None
    filled: bool | None = None
    timezone: str | None = None
    tag: str = ""
    statement: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    conversions: Mapping[str, Conversion] = field(default_factory=dict)

    def conversion(self, column: str) -> Conversion:
        """Return how the column's type was changed; `other` where that is not known."""
        return Conversion.ASSIGN if self.has_using is False else self.conversions.get(column, Conversion.OTHER)

    @property
    def may_drop_default(self) -> bool:
        """May a default that filled rows be gone again, by the same statement or by one that nobody saw?"""
        return self.statement is None or Word(Kind.WORD, "default") in tokens(self.statement)

    def lines(self) -> tuple[str, ...]:
        """Return the evidence as lines of text for people."""
        lines = [f"statement: {' '.join(self.statement.split())}"] if self.statement else ["statement: not known"]
        facts = (("USING", self.has_using), ("rows rewritten", self.rewritten), ("rows not in the log", self.filled))
        for what, known in facts:
            lines.append(f"{what}: {'not known' if known is None else 'yes' if known else 'no'}")
        return tuple(lines)


NOTHING_KNOWN = Evidence()


def evidence(event: Event, table_id: int) -> Evidence:
    """Return what a DDL event says about how one of its tables changed.

    The query string says nothing of a statement that a function ran, which may be called from any text.
    """
    query = event.query if RUN in event.settings else None
    return Evidence(
        has_using=has_using(event.statement, query),
        rewritten=table_id in event.rewritten,
        filled=table_id in event.filled,
        timezone=event.settings.get("timezone"),
        tag=event.tag,
        statement=event.statement,
        settings=event.settings,
        conversions=known_conversions(event.statement, query),
    )


def with_plain_arithmetic(known: Evidence, before: Table | None, types: TypeSystem) -> Evidence:
    """Return the evidence with columns as plainly assigned where a USING clause computes them from exact numbers.

    Such values come out at the target as they did at the source.
    """
    path = {token.text for token in tokens(str(known.settings.get(SCHEMA_PATH) or ""))}
    if before is None or known.statement is None or SYSTEM_SCHEMA in path:  # operators of the user's may come first
        return known
    plain = frozenset(c.name for c in before.columns if types.is_exact_number(c.type))
    same = computed(known.statement, plain) & known.conversions.keys()
    return replace(known, conversions={**known.conversions, **dict.fromkeys(same, Conversion.ASSIGN)})


def has_using(statement: str | None, query: str | None) -> bool | None:
    """May the statement have had a USING clause? False only when the text rules it out.

    The statement itself decides. Without it, a query string that can't have run any other statement
    (no DO, no SELECT, no CALL) and never says USING rules it out too.
    """
    if statement is not None:
        return None if is_doubtful(statement) else _says_using(statement)
    if query is None or is_doubtful(query) or _says_using(query):
        return None
    return False if all(words[0] in _PLAIN for words in statements(query)) else None


def known_conversions(statement: str | None, query: str | None) -> dict[str, Conversion]:
    """Return how a statement changed each column's type, where exactly one statement was run.

    With several statements in one text, the first one's conversions would be taken for the second one's.
    """
    text = query if statement is None else statement
    if text is None or not (found := conversions(text)):
        return {}
    return found if not is_doubtful(text) and len(list(statements(text))) == 1 else {}


def statements(query: str) -> Iterator[list[str]]:
    """Yield the words of each statement of a query string."""
    words: list[str] = []
    for token in tokens(query):
        if token == Word(Kind.SIGN, ";"):
            if words:
                yield words
            words = []
        else:
            words.append(token.text)
    if words:
        yield words


def _says_using(text: str) -> bool:
    return "using" in text.lower() and Word(Kind.WORD, "using") in tokens(text)


def is_doubtful(text: str) -> bool:
    """May the text not be what the server has run?

    A backslash in a plain string may end it elsewhere when standard_conforming_strings is off. What stands for a
    password may stand for more of the text: between two strings of which the first ends in such a word.
    """
    return _MASKED in text or (
        "\\" in text and any(t.kind is Kind.STRING and t.text.startswith("'") and "\\" in t.text for t in tokens(text))
    )
