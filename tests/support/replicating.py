"""A channel whose target has the parameters of a GoldenGate Replicat, which maps schema hr to bk."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.support.replica import Make, Replica

START = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.pay (id int PRIMARY KEY, v int)",
    "CREATE TABLE hr.tmp (id int PRIMARY KEY)",
    "CREATE TABLE other (id int PRIMARY KEY)",
    "INSERT INTO hr.pay VALUES (1, 1)",
    "INSERT INTO hr.tmp VALUES (1)",
)
MAPS = [{"source": "hr.*", "target": "bk.bak_*"}]


def replicat(
    make: Make, databases: Any, *more: str, targets: Any = (), settings: Any = None, **parameters: Any
) -> Replica:
    """A channel whose target has a Replicat, which maps schema hr to bk unless `parameters` say otherwise.

    more: statements at the source before activation. targets: other targets, besides this one. settings: more of the
    channel file.
    """
    with psycopg.connect(databases.target, autocommit=True) as session:
        session.execute("CREATE SCHEMA IF NOT EXISTS bk")
        session.execute("GRANT ALL ON SCHEMA bk TO public")
    target = {"name": "warehouse", "location": databases.target, "replicat": {"maps": MAPS, **parameters}}
    return make(*START, *more, adapt_ddl=[], targets=[target, *targets], **(settings or {}))


COLUMNS = """
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = to_regclass('{}') AND attnum > 0
AND NOT attisdropped
"""


def columns(replica: Replica, table: str) -> str:
    ((found,),) = replica.rows(COLUMNS.format(table))
    return str(found)
