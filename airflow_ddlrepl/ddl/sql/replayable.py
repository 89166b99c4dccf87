"""This module reads the text of a DDL statement to decide whether a target may run it, and what it names.

What is not understood is not run: only statements of a known form are, and none that reaches beyond what it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from airflow_ddlrepl.ddl.sql.calls import called
from airflow_ddlrepl.ddl.sql.statement import is_doubtful, statements
from airflow_ddlrepl.sql.lexer import Kind, Word, parts, placed_tokens, tokens


class Named(NamedTuple):
    """A name is a schema and a name as the statement's text has them; schema: None where the text has none."""

    schema: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading is what was found in a statement's text: the objects that it is about, or why it is not replayed.

    tables: existing ones that it is about. type: the type or domain that it is about.
    refused: why it may not run at a target. local: why it does nothing that a target needs; it is left out there.
    is_missed: does the target lack what was left out, such as an index?
    """

    tables: tuple[Named, ...] = ()
    type: Named | None = None
    refused: str = ""
    local: str = ""
    is_missed: bool = False


Words = list[Word]
ALLOW = "`code: [expression]` beside `tables`, or `maps`, lets the target's role run it"
# Who owns it, where it lies, who may see what, what triggers do: of the source's own affairs.
_LOCAL = (
    ("owner", "to"), ("set", "tablespace"), ("set", "logged"), ("set", "unlogged"), ("replica", "identity"),
    ("cluster", "on"), ("set", "without", "cluster"), ("enable",), ("disable",), ("force", "row"),
    ("no", "force", "row"), ("inherit",), ("no", "inherit"),
)  # fmt: skip
_UNICODE_NAME = re.compile(r"""[uU]&["']""")
_MASKED = "'***'"


def read(statement: str, tag: str, *, may_call: bool = True) -> Reading:
    """Return what a statement is about and whether it may run at a target.

    tag: the command tag under which the server has run it. statement: empty where it is not known. may_call: may its
    expressions call whatever they call?
    """
    found = _read(statement, tag)
    if may_call or found.refused or found.local or not (calls := called(list(tokens(statement))[2:])):
        return found
    return replace(found, refused=f"it calls {calls[0]}, which may do more than compute a value: {ALLOW}")


def _read(statement: str, tag: str) -> Reading:
    form = FORMS.get(tag)
    if form is _alter_index:
        return form([], "")
    if form is None:
        return Reading(refused=f"{tag or 'such a statement'} can't be replayed: {TAGS} can")
    if why := why_unsafe(statement):
        return Reading(refused=why)
    words = [word for word in tokens(statement) if word != Word(Kind.SIGN, ";")]
    verb, *rest = tag.lower().split()
    if _bare_words(words, 1) != [verb]:
        return Reading(refused=f"its text is no {tag}")
    return form(words[1:], rest[0])


def why_unsafe(statement: str) -> str:
    """Return why no target runs a text, whatever it is about; empty: it may."""
    if _MASKED in statement:
        return "a password in it was left out"
    if is_doubtful(statement) or _UNICODE_NAME.search(statement):
        return "it has backslashes or Unicode escapes, which may have another meaning at the target"
    if len(list(statements(statement))) != 1:
        return "it is more than one statement"
    if _cascades([word for word in tokens(statement) if word != Word(Kind.SIGN, ";")]):
        return "CASCADE can take along what hangs on the table at the target"
    return ""


def _alter_table(words: Words, kind: str) -> Reading:
    words = _skip(_after(words, kind), "if", "exists")
    name, words = _name(_skip(words, "only"))
    if name is None:
        return _UNKNOWN
    actions = parts(words[1:] if _bare_words(words, 1) == ["*"] else words)
    local = [any(_bare_words(action, len(start)) == list(start) for start in _LOCAL) for action in actions]
    if all(local):
        return Reading((name,), local="it concerns the source alone (owner, storage, privileges, triggers, log)")
    if any(local):
        return Reading((name,), refused="it also does things that concern the source alone")
    partition = next(
        (a[2:] for a in actions if _bare_words(a, 2) in (["attach", "partition"], ["detach", "partition"])), []
    )
    if Word(Kind.WORD, "concurrently") in partition:
        return Reading((name,), refused="CONCURRENTLY can't run together with the rows")
    other, _ = _name(partition)
    return Reading((name, other) if other else (name,))


def _create_table(words: Words, kind: str) -> Reading:
    name, rest = _name(_skip(_after(words, kind), "if", "not", "exists"))
    if name is None:
        return Reading(refused="its form is not known, or it is a temporary or unlogged table")
    depth = 0
    for word in rest:
        depth += (word.text == "(") - (word.text == ")") if word.kind is Kind.SIGN else 0
        if not depth and word == Word(Kind.WORD, "inherits"):
            return Reading(refused="the target's tables do not inherit")
    return Reading()


def _drop_table(words: Words, kind: str) -> Reading:
    names = []
    for part in parts(_skip(_after(words, kind), "if", "exists")):
        name, rest = _name(part)
        if name is None or _bare_words(rest, 2) not in ([], ["restrict"]):
            return _UNKNOWN
        names.append(name)
    return Reading(tuple(names))


def _create_index(words: Words, kind: str) -> Reading:
    words = _after(_skip(words, "unique"), kind)
    later = Word(Kind.WORD, "concurrently") in words[:1]
    on = next((at for at, word in enumerate(words) if word == Word(Kind.WORD, "on")), len(words))
    name, _ = _name(_skip(words[on + 1 :], "only"))
    if name is None:
        return _UNKNOWN
    left = "CONCURRENTLY can't run together with the rows: create it by hand"
    return Reading((name,), local=left, is_missed=True) if later else Reading((name,))


def _drop_index(words: Words, kind: str) -> Reading:
    return Reading(refused="it drops several indexes at once") if len(parts(words)) > 1 else Reading()


def as_run(statement: str) -> str:
    """Return the text of a statement as a target runs it: without its end, and what no transaction allows.

    The target has no index from before it was loaded: to drop it there has nothing to do.
    """
    text = statement.strip().rstrip("; \n\r\t")
    placed = list(islice(placed_tokens(text), 5))
    words = [word for word, _, _ in placed]
    if _bare_words(words, 2) != ["drop", "index"]:
        return text
    number = 3 if _bare_words(words[2:], 1) == ["concurrently"] else 2
    number += 2 if _bare_words(words[number:], 2) == ["if", "exists"] else 0
    return f"{text[: placed[1][2]]} IF EXISTS{text[placed[number - 1][2] :]}"


def _alter_index(words: Words, kind: str) -> Reading:
    left = "the target may not have this index: its own are not replayed but for their creation"
    return Reading(local=left, is_missed=True)


def _alter_type(words: Words, kind: str) -> Reading:
    name, rest = _name(_after(words, kind))
    if name is None:
        return _UNKNOWN
    if _bare_words(rest, 2) == ["owner", "to"]:
        return Reading(local="it concerns the source alone (owner)")
    return Reading(type=name)


FORMS: dict[str, Callable[[Words, str], Reading]] = {
    "ALTER TABLE": _alter_table,
    "CREATE TABLE": _create_table,
    "DROP TABLE": _drop_table,
    "CREATE INDEX": _create_index,
    "DROP INDEX": _drop_index,
    "ALTER INDEX": _alter_index,
    "ALTER TYPE": _alter_type,
    "ALTER DOMAIN": _alter_type,
}
"""What can be replayed, by command tag."""
TAGS = ", ".join(FORMS)
_UNKNOWN = Reading(refused="its form is not known")


def _cascades(words: Words) -> bool:
    """Does the statement have CASCADE, other than the ON DELETE CASCADE of a foreign key?"""
    return any(
        word == Word(Kind.WORD, "cascade") and (not at or words[at - 1].text not in ("delete", "update"))
        for at, word in enumerate(words)
    )


def _bare_words(words: Words, count: int) -> list[str]:
    """Return the texts of the first words, empty for names in quotes."""
    return [word.text if word.kind in (Kind.WORD, Kind.SIGN) else "" for word in words[:count]]


def _after(words: Words, kind: str) -> Words:
    """Return the words after the one that names the kind of object; none where the first word is another one."""
    return words[1:] if words[:1] == [Word(Kind.WORD, kind)] else []


def _skip(words: Words, *optional: str) -> Words:
    return words[len(optional) :] if _bare_words(words, len(optional)) == list(optional) else words


def _name(words: Words) -> tuple[Named | None, Words]:
    """Return the name that the words begin with (None where they begin with no name) and the words after it."""
    if not words or words[0].kind not in (Kind.WORD, Kind.NAME):
        return None, words
    if words[1:2] != [Word(Kind.SIGN, ".")]:
        return Named(None, words[0].text), words[1:]
    if len(words) < 3 or words[2].kind not in (Kind.WORD, Kind.NAME) or words[3:4] == [Word(Kind.SIGN, ".")]:
        return None, words
    return Named(words[0].text, words[2].text), words[3:]
