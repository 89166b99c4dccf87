"""A name pattern is written as in HVR: `*` any run, `?` one character, `[a-f]`, `[!a-f]`, `|` between alternatives.

Patterns ignore case, because the database folds unquoted names. A part in double quotes is literal and case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import MAX_NAME_BYTES, TableName

_PART = r'(?:"(?:[^"]|"")+"|\[[^\]]+\]|[^".\[])+'
_ONE_PART = re.compile(rf"^{_PART}$")
_TWO_PARTS = re.compile(rf"^({_PART})\.({_PART})$")
_SPECIAL = re.compile(r"[*?\[\]|]")
TOKEN = re.compile(r'"((?:[^"]|"")+)"|\[([!^]?)([^\]]+)\]|(\*)|(\?)|(\|)|(.)', re.DOTALL)
"""One part of a pattern; groups: quoted, negation, characters, star, question mark, bar, character."""


IN_SET = re.compile(r"(.)-(.)|(.)", re.DOTALL)
"""A range of a set of characters, or one of its characters."""


def matches(pattern: str, name: str) -> bool:
    """Return whether the name matches one of the pattern's alternatives."""
    return compiled(pattern).fullmatch(name) is not None


def is_pattern(text: str) -> bool:
    """Return whether the text has a character that is special in a pattern."""
    return _SPECIAL.search(text) is not None


def split_table_pattern(pattern: str) -> tuple[str, str]:
    """Split `schema.table` into its two patterns. Raises ValueError when there aren't exactly two parts."""
    if '"' not in pattern and "[" not in pattern:  # each dot parts two parts
        schema, _, table = pattern.partition(".")
        if schema and table and "." not in table:
            return schema, table
    found = _TWO_PARTS.match(pattern)
    if not found:
        raise ValueError(f'{pattern!r} is not of the form schema.table, for example "public.*"')
    return found.group(1), found.group(2)


def table_patterns(texts: Iterable[str]) -> list[str]:
    """Return the patterns a person typed for tables. Raises ConfigError CFG-112 unless each is `schema.table`."""
    found = list(texts)
    for text in found:
        try:
            split_table_pattern(text)
        except ValueError as error:
            raise ConfigError(f"table {error}", code="CFG-112") from None
    return found


def exact_pattern(name: TableName) -> str:
    """Return the `schema.table` pattern that matches this table and no other."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name)


def matches_table(pattern: str, name: TableName) -> bool:
    """Return whether the `schema.table` pattern matches this table."""
    schema, table = split_table_pattern(pattern)
    return matches(schema, name.schema) and matches(table, name.name)


def split_name_pattern(pattern: str) -> tuple[str, ...]:
    """Split a pattern for a table's name, or for schema.name, into its one or two parts. Raises ValueError for more.

    A dot in double quotes belongs to the name.
    """
    if "." not in pattern or (('"' in pattern or "[" in pattern) and _ONE_PART.match(pattern)):
        return (pattern,)
    return split_table_pattern(pattern)


def matches_name(pattern: str, name: TableName) -> bool:
    """Return whether a pattern for a table's name, or for schema.name, matches this table."""
    *schema, table = split_name_pattern(pattern)
    return matches(table, name.name) and all(matches(one, name.schema) for one in schema)


def matches_no_name(pattern: str) -> bool:
    """Return whether one of the pattern's alternatives matches no name: it is empty, or longer than a name may be."""
    sizes, is_open = [0], [False]
    for quoted, _, chars, star, one, alternative, char in TOKEN.findall(pattern):
        if alternative:
            sizes.append(0)
            is_open.append(False)
        elif star:
            is_open[-1] = True
        else:
            sizes[-1] += len(quoted.replace('""', '"').encode()) or bool(chars or one) or len(char.encode())
    return any(size > MAX_NAME_BYTES or (not size and not more) for size, more in zip(sizes, is_open, strict=True))


def matches_new_table(name: TableName, pattern: str, ignore: str | None, schema: str | None) -> bool:
    """Return whether the pattern adds a new table of this name to the channel.

    ignore: a pattern for names that are not added. schema: the only schema whose tables are added; None: any.
    """
    if not matches(pattern, name.name) or (ignore is not None and matches(ignore, name.name)):
        return False
    return schema is None or matches(schema, name.schema)


def matches_one(patterns: Iterable[str], name: str) -> bool:
    """Return whether one of the patterns matches the name of a column."""
    return any(matches(pattern, name) for pattern in patterns)


def any_matches(patterns: Iterable[str], name: TableName) -> bool:
    """Return whether one of the `schema.table` patterns matches this table."""
    return any(matches_table(pattern, name) for pattern in patterns)


def is_selected(name: TableName, patterns: Collection[str]) -> bool:
    """Return whether a command with these table patterns is about the table; without patterns it is about all."""
    return not patterns or any_matches(patterns, name)


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern, for a caller that keeps it."""
    return re.compile("".join(as_regex(m) for m in TOKEN.finditer(pattern)), re.DOTALL)


def as_regex(match: re.Match[str]) -> str:
    """Return the regular expression for one match of TOKEN."""
    quoted, negated, chars, star, one, alternative, char = match.groups()
    if quoted:
        return re.escape(quoted.replace('""', '"'))
    if chars:
        body = IN_SET.sub(lambda found: "-".join(re.escape(one) for one in found.groups() if one), chars)
        return f"(?i:[{'^' if negated else ''}{body}])"
    if star:
        return ".*"
    if one:
        return "."
    if alternative:
        return "|"
    return f"(?i:{re.escape(char)})"
