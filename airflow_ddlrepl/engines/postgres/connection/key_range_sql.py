"""This module writes ranges of a key as SQL: a list in FROM, joined with the table by an index on the key."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.model.key_ranges import KeyRanges


def ranges_sql(ranges: KeyRanges) -> str:
    """Return an entry of FROM with a row per range."""
    lows, highs = (",".join(str(bound[end]) for bound in ranges.bounds) for end in (0, 1))
    names = '"ddlrepl ranges" ("ddlrepl low", "ddlrepl high")'
    return f"unnest('{{{lows}}}'::bigint[], '{{{highs}}}'::bigint[]) AS {names}"


def in_ranges(ranges: KeyRanges, alias: str = "") -> str:
    """Return SQL that is true for the rows of a range of `ranges_sql`. alias: of the table, with its dot."""
    return f'{alias}{quote(ranges.column)} BETWEEN "ddlrepl low" AND "ddlrepl high"'
