"""Write the text of a channel file with comments that say what was found, and what else could stand there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import yaml

from airflow_ddlrepl.cli.propose.found_tables import FoundTable, Survey
from airflow_ddlrepl.engines.source_catalog import RelationKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import exact_pattern
from airflow_ddlrepl.visible import one_line

SCHEMA_FILE = "ddlrepl-channel.schema.json"
MANY_SCHEMAS = 20
MANY_TABLES = 10
WIDTH = 110
EVERY = "*.*"
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
LEFT_OUT = "activation takes them in, `ddlrepl status` names them, and their rows stay away:"


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft is what a channel file has to have. tables: patterns. target: the target's name."""

    channel: str
    source: str
    target: str
    target_location: str = field(repr=False)
    tables: tuple[str, ...] = (EVERY,)
    exclude: tuple[str, ...] = ()


def bare(draft: Draft) -> str:
    """Return a channel file without comments, with which source and target can be looked at."""
    return "\n".join(_file(draft, [], [], [], []))


def channel_text(draft: Draft, found: Survey) -> str:
    """Return the channel file that is proposed for what was found."""
    refused = {exact_pattern(one.name): one.refused for one in found.tables if one.refused}
    draft = Draft(draft.channel, draft.source, draft.target, draft.target_location, draft.tables, tuple(refused))
    head = [
        f"# yaml-language-server: $schema={SCHEMA_FILE}",
        *_comment("Proposed by `ddlrepl init`. docs/channel.md has every key; `ddlrepl check` finds mistakes."),
        "",
    ]
    source = [f"{found.source}, {found.profile.version}, {found.profile.log}", *_summary(found)]
    target = [found.there.detail or "it could not be asked: nothing is known of it"]
    reasons = [refused[pattern] for pattern in draft.exclude]
    lines = [*head, *_file(draft, source, [*_ddl(found), *_left_out(found)], target, reasons)]
    return "\n".join([*lines, "", *_choices(found), ""])


def schema_patterns(tables: Sequence[TableName]) -> tuple[str, ...]:
    """Return one pattern for each schema that has tables; one for all schemas where these are many, or none."""
    schemas = sorted({name.schema for name in tables})
    if not schemas or len(schemas) > MANY_SCHEMAS:
        return (EVERY,)
    folded = Counter(schema.lower() for schema in schemas)
    return tuple(
        f"{schema}.*" if _PLAIN.fullmatch(schema) and folded[schema] == 1 else f"{_quoted(schema)}.*"
        for schema in schemas
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _file(
    draft: Draft, source: Sequence[str], how: Sequence[str], target: Sequence[str], reasons: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of the file. source, target: comments. how: more lines of `source`. reasons: of `exclude`."""
    yield f"channel: {draft.channel}"
    yield "source:"
    yield from _comments(source, "  ")
    yield f"  location: {scalar(draft.source)}"
    yield "  tables:"
    yield from (f"    - {scalar(_literal(pattern))}" for pattern in draft.tables)
    if draft.exclude:
        yield "  exclude:"
    for pattern, why in zip(draft.exclude, reasons, strict=False):
        yield from _comments([why], "    ")
        yield f"    - {scalar(_literal(pattern))}"
    yield from how
    yield "targets:"
    yield from _comments(target, "  ")
    yield f"  - name: {draft.target}"
    yield f"    location: {scalar(draft.target_location)}"
    yield "adapt_ddl:"
    yield '  - add_table_pattern: "*"   # tables that are created later in these schemas join'


def _summary(found: Survey) -> Iterator[str]:
    rows, size = sum(one.rows for one in found.tables), sum(one.size for one in found.tables)
    yield f"{counted(len(found.tables), 'table')}, about {rows:,} rows, {in_bytes(size)}"
    largest = sorted(found.tables, key=lambda one: (-one.size, one.name))
    yield from (f"  {one.name}: {described(one)}" for one in largest[:MANY_TABLES])
    if len(largest) > MANY_TABLES:
        yield f"  and {len(largest) - MANY_TABLES:,} smaller ones"


def described(table: FoundTable) -> str:
    """Return a table's rows, size and key in a few words."""
    key = f"key {', '.join(table.key)}" if table.key else "no key"
    parts = f", {counted(table.partitions, 'partition')}" if table.partitions else ""
    rows = f"about {table.rows:,} rows" if table.rows or not table.size else "rows not counted yet (ANALYZE)"
    return one_line(f"{rows}, {in_bytes(table.size)}, {key}{parts}")


def _ddl(found: Survey) -> Iterator[str]:
    if found.profile.is_administrator:
        return
    yield from _comments(
        [
            f"{found.profile.role} is no superuser: without event triggers, changed shapes are found by comparing."
            " `auto` makes the triggers as soon as a superuser runs `ddlrepl activate --no-refresh` once."
        ],
        "  ",
    )
    yield "  ddl: auto"


def _left_out(found: Survey) -> Iterator[str]:
    out = [one for one in found.tables if one.left_out and not one.refused]
    if out:
        yield from _comments([LEFT_OUT, *(f"  {one.name}: {one.left_out}" for one in out[:MANY_TABLES])], "  ")
    if len(out) > MANY_TABLES:
        yield from _comments([f"  and {len(out) - MANY_TABLES:,} more"], "  ")


def _choices(found: Survey) -> Iterator[str]:
    """Yield what people most often want to be otherwise, as comments that are YAML without their mark."""
    yield from _comment(
        "A column that is dropped at the source is dropped at the target, with its values; a table stays there with its"
        " rows. To be asked before such a change:"
    )
    yield "# ask_before: [drop_column, narrow, drop_table]"
    sequences = sum(one.kind is RelationKind.SEQUENCE for one in found.others)
    if sequences:
        yield from _comment(f"Without this, sequences ({sequences:,}) and defaults that use them are not replicated:")
        yield "# db_sequence: true"
    yield from _comment("In Airflow the channel's DAG runs by hand, or by this schedule:")
    yield '# schedule: "*/5 * * * *"'


def _comments(texts: Sequence[str], indent: str) -> Iterator[str]:
    for text in texts:
        yield from (f"{indent}{line}" for line in _comment(text, WIDTH - len(indent)))


def _comment(text: str, width: int = WIDTH) -> Iterator[str]:
    """Yield comment lines with the words of a text; nothing in it can end the comment."""
    shown = one_line(text)
    margin = " " * (len(shown) - len(shown.lstrip()))
    line = ""
    for word in shown.split():
        if line and len(line) + len(word) + 4 > width:
            yield f"# {margin}{line}"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield f"# {margin}{line}"


def scalar(value: str) -> str:
    """Return a text as a double-quoted YAML scalar in one line, whatever characters it has."""
    return yaml.safe_dump(value, default_style='"', width=1 << 20, allow_unicode=False).rstrip("\n")


def _literal(pattern: str) -> str:
    """Return a pattern in which `${` is no variable of the environment."""
    return pattern.replace("${", "$${")


def counted(number: int, what: str) -> str:
    """Return a number of things: 1 table, 2 tables."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def in_bytes(size: int) -> str:
    """Return a number of bytes for people: 12 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 10_000:
            return f"{size:,} {unit}"
        size //= 1000
    return f"{size:,} TB"
