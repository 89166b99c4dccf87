"""This module writes a channel's scope as PostgreSQL's regular expressions.

The event triggers decide by them inside the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.config.sections.retention import LARGEST_MESSAGE
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.notation.name_pattern import IN_SET, TOKEN, split_name_pattern, split_table_pattern

PENDING = "pending"
"""A key of what is stored while a change of the file is carried out: what is cut short is done again."""
KEYS = {
    "tables": "source.tables",
    "exclude": "source.exclude",
    "joining": "adapt_ddl.add_table_pattern, replay_ddl or MAP",
    "whole": "restrict, transform, target_tables or conflicts",
    "sessions": "capture.ignore_sessions",
    "replica_identity": "source.replica_identity",
    "message_bytes": "limits.message_bytes",
}
"""What is stored at the source, by the keys of the channel file that it comes from."""


_IN_BRACKETS = re.compile(r"([\\\[\]^&~-])")


def patterns_of(scope: Scope) -> dict[str, Any]:
    """Return regular expressions that decide in the server what the scope decides here.

    [schema, table] pairs; for joining [schema, table, but not], for whole [schema, table, column].
    """
    schemas = sorted({split_table_pattern(p)[0] for p in scope.tables})
    return {
        "tables": [_both(p) for p in scope.tables],
        "exclude": [_both(p) for p in scope.exclude],
        "joining": [
            [schema, regex(rule.pattern), None if rule.ignore is None else regex(rule.ignore)]
            for rule in scope.joining
            for schema in ([regex(rule.schema)] if rule.schema is not None else map(regex, schemas))
        ]
        + [_within(one, other) for one in scope.replayed for other in scope.tables],
        "whole": [
            [*map(regex, ("*", *split_name_pattern(one.table))[-2:]), None if one.column is None else regex(one.column)]
            for one in scope.whole
        ],
    }


def stored(scope: Scope, sessions: str | None, message_bytes: int) -> dict[str, Any]:
    """Return what ddlrepl.channel stores of a channel file in its column `scope`.

    sessions: the SQL condition for sessions that are ignored. message_bytes: of the largest message; the default is
    stored as nothing, as by a channel of before.
    """
    largest = None if message_bytes == LARGEST_MESSAGE else message_bytes
    return {**patterns_of(scope), "sessions": sessions, "message_bytes": largest}


def differing_keys(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the keys of the channel file that say something else than what is stored of it at the source."""
    found = [KEYS.get(name, name) for name in wanted if known.get(name) != wanted[name]]
    return found or ([KEYS["tables"]] if PENDING in known else [])


def regex(pattern: str) -> str:
    """Return the pattern as a PostgreSQL regular expression that matches the same whole names."""
    return f"^(?:{''.join(_piece(m) for m in TOKEN.finditer(pattern))})$"


def _both(pattern: str) -> list[str]:
    schema, table = split_table_pattern(pattern)
    return [regex(schema), regex(table)]


def _within(one: str, other: str) -> list[str | None]:
    """Return the pair of expressions for the tables that both patterns match."""
    pairs = zip(split_table_pattern(one), split_table_pattern(other), strict=True)
    return [*(f"^(?={regex(a)[1:]}){regex(b)[1:]}" for a, b in pairs), None]


def _piece(match: re.Match[str]) -> str:
    quoted, negated, chars, star, one, alternative, char = match.groups()
    if quoted:
        return "".join(_escaped(c) for c in quoted.replace('""', '"'))
    if chars:
        is_caseless = chars.lower() == chars.upper()
        members = _ranges(chars) if is_caseless else _members(chars.lower()) + _members(chars.upper())
        return f"[{'^' if negated else ''}{members}]"
    if star:
        return ".*"
    if one:
        return "."
    if alternative:
        return "|"
    variants = {char, char.lower(), char.upper()}
    single = sorted(_escaped(v) for v in variants if len(v) == 1)
    return single[0] if len(single) == 1 else f"[{''.join(single)}]"


def _ranges(chars: str) -> str:
    return re.sub(r"([\\\[\]^&~])", r"\\\1", chars)


def _members(chars: str) -> str:
    """Return the members of a set as text that other members may follow: a hyphen that is one is escaped."""
    return IN_SET.sub(lambda found: "-".join(_IN_BRACKETS.sub(r"\\\1", one) for one in found.groups() if one), chars)


def _escaped(char: str) -> str:
    return char if char.isalnum() or char == "_" or ord(char) > 127 else "\\" + char
