"""A few rows of each of many tables are decoded together where the log describes the tables alike."""

from __future__ import annotations

import struct

import pytest

from airflow_ddlrepl.engines.postgres.pgoutput import few_rows
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position
from tests.postgres.pgoutput.test_decoder import ID, INT4, TEXT, begin, commit, decoder, feed, insert, relation, row

NOTED = [("id", INT4, True), ("note", TEXT, False)]


@pytest.mark.parametrize("turns", [(1, 1, 2, 2, 3), (1, 2, 1, 3, 2), (3, 2, 1)], ids=["one by one", "mixed", "back"])
def test_rows_of_tables_that_are_alike_are_those_of_each_table_alone(
    turns: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted = b"D" + struct.pack(">I", 2) + b"K" + row([2, None], [INT4, TEXT], True)
    relations = [relation(n, NOTED if n < 4 else ID, name=f"t{n}") for n in (1, 2, 3, 4)]
    values = [(n, None if place == 1 else "x" * place) for place, n in enumerate(turns)]
    rows = [insert(n, *value, oids=(INT4, TEXT)) for n, value in zip(turns, values, strict=True)]
    log = [begin(10), *relations, *rows, deleted, insert(4, 5), commit(10)]
    together, *_ = feed(decoder(), log)
    with monkeypatch.context() as each:
        each.setattr(few_rows, "MOST_TOGETHER", 0)
        assert together == feed(decoder(), log)[0]
    assert sum(map(len, together.values())) == len(turns) + 2


def test_of_tables_that_are_alike_the_one_that_is_not_understood_is_named_by_its_position() -> None:
    relations = [relation(n, ID, name=f"t{n}") for n in (1, 2)]
    log = [begin(10), *relations, insert(1, 5), commit(10), begin(20), insert(2, 5) + b"x", commit(20)]
    with pytest.raises(SourceError, match="SRC-160") as caught:
        feed(decoder(), log)
    assert caught.value.at == str(Position(20))
