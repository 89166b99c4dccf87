"""What files answer about rows of the log: their conditions are those of SQLite, which every Python has."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.condition.expression import Part, Spelling
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator

NUMBERS = ("int2", "int4", "int8", "numeric", "float4", "float8")
WHOLE = {"int2": 15, "int4": 31, "int8": 63}


class FileEvaluator(RowEvaluator):
    """Values are texts, numbers and truth values, as a log in the format `text` has them."""

    def is_true(self, condition: Part, rows: LoggedRows) -> Any:
        types = {c.name: "numeric" if c.type.name in NUMBERS else "text" for c in rows.table.columns}
        names = rows.values.column_names
        columns = ", ".join(f"{_quoted(name)} {types[name]}" for name in names)
        wanted = condition.sql(Spelling(_quoted, lambda of: _quoted(of, "'")))
        with sqlite3.connect(":memory:") as connection:
            connection.execute("PRAGMA case_sensitive_like = ON")
            connection.execute(f"CREATE TABLE s ({columns})")
            places = ", ".join("?" for _ in names)
            values = zip(*(rows.values[name].to_pylist() for name in names), strict=True)
            connection.executemany(f"INSERT INTO s VALUES ({places})", values)
            try:
                found = connection.execute(f"SELECT ({wanted}) IS TRUE FROM s ORDER BY rowid").fetchall()
            except sqlite3.Error as error:
                raise NoAnswer(str(error)) from None
        return np.array([bool(one) for (one,) in found], bool)

    def misfits(self, rows: LoggedRows, columns: Mapping[str, Column]) -> pa.Table:
        texts = self.as_text(rows)
        return pa.table(
            {n: pa.array([_misfit(one, of) for one in texts[n].to_pylist()], pa.string()) for n, of in columns.items()}
        )


def text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "t" if value else "f"
    return value if value is None or isinstance(value, str) else str(value)


def _misfit(value: str | None, of: Column) -> str | None:
    """Why a column can't hold a text: it is too long, or no number of the type's size."""
    if value is None:
        return None
    if of.type.name == "varchar" and 0 <= of.type.modifier - 4 < len(value):
        return f"value too long for type {of.type.text}"
    try:
        bits = WHOLE.get(of.type.name)
        is_bad = bits is not None and not -(1 << bits) <= int(value) < 1 << bits
    except ValueError:
        is_bad = True
    return f"{value} is no {of.type.text}" if is_bad else None


def _quoted(name: str, by: str = '"') -> str:
    return by + name.replace(by, by * 2) + by
