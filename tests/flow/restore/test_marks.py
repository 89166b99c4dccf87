"""The marks by which an older copy is found out: who may write them, and what else they let anybody do."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.replica import BOTH, Make

pytestmark = BOTH

TABLE = ("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
PUT = "select ddlrepl.put_mark('shop', 99, 'forged', '')"


@pytest.mark.parametrize(
    ("rights", "why"),
    [("", "permission denied for schema"), ("grant usage on schema ddlrepl to mallory", "replication slots")],
    ids=["connect", "usage"],
)
def test_mallory_writes_no_mark(make: Make, rights: str, why: str) -> None:
    """Nor does she read one, or their table: nobody's rows are there but the channel's number and token."""
    replica = make(*TABLE)
    replica.settle()
    with psycopg.connect(replica.source, autocommit=True) as admin:
        admin.execute("drop role if exists mallory")
        admin.execute("create role mallory")
        try:
            if rights:
                admin.execute(rights.encode())
            admin.execute("set session authorization mallory")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match=why):
                admin.execute(PUT)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                admin.execute("update ddlrepl.mark set number = 0")
        finally:
            admin.execute("reset session authorization")
            admin.execute("drop owned by mallory")
            admin.execute("drop role mallory")
    replica.at_source("insert into t values (2, 'b')")
    replica.settle()
