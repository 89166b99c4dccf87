"""Which tables lack row changes because somebody has changed what captures them by triggers, be it for a while.

Each cycle of a synchronous capture compares the triggers with those that the last one has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from airflow_ddlrepl.capture.captured_table import CapturedPart, CapturedTable
from airflow_ddlrepl.model.names import TableName


def uncaptured(
    known: Mapping[TableName, CapturedTable], now: Mapping[TableName, CapturedTable]
) -> dict[TableName, str]:
    """Return why row changes of tables may not have been captured since an earlier look.

    A table of which nothing is known has changes that are missing where it has a trigger that does not fire always.
    """
    found = {name: "; ".join(dict.fromkeys(_reasons(known.get(name), table))) for name, table in now.items()}
    return {name: why for name, why in found.items() if why}


def _reasons(known: CapturedTable | None, now: CapturedTable) -> Iterator[str]:
    if known is None:
        yield from (one.problem for one in now.parts.values() if one.rows and one.problem)
        return
    if known.id != now.id:
        yield "another table has its name"
        return
    if any(_is_put_back(*pair) for pair in zip_longest(known.name, now.name, fillvalue=("", ""))):
        yield "it, or its schema, had another name for a while"
    if known.function != now.function:
        yield "the function of its triggers was replaced or dropped"
    yield from (f"{name} is no partition of it any more" for name in now.elsewhere)
    for table_id, part in now.parts.items():
        yield from _of_part(known.parts.get(table_id), part)


def _is_put_back(known: tuple[str, str], now: tuple[str, str]) -> bool:
    """Was a row of the catalog written again, without another value in it?"""
    return known[0] != now[0] and known[1] == now[1]


def _of_part(known: CapturedPart | None, now: CapturedPart) -> Iterator[str]:
    if now.problem:
        yield now.problem
    elif known is None:
        if now.arrival:
            yield now.arrival
        if now.clones and now.rows not in now.clones:
            yield f"its trigger on {now.name} was switched off or changed"
    elif known.rows != now.rows or (known.truncation and known.truncation != now.truncation):
        yield f"its trigger on {now.name} was switched off, dropped or changed"
