"""A column of a domain that has a default of its own: the column's default counts for rows that are there, NULL too."""

from __future__ import annotations

import pytest

from tests.support.replica import Make


@pytest.mark.parametrize("default", ["NULL", "NULL::numeric", "5", ""])
@pytest.mark.parametrize(
    "domain", ["numeric(8,2) DEFAULT 3", "numeric(8,2) DEFAULT 3 CHECK (VALUE > 1)", "numeric(8,2)"]
)
def test_rows_that_are_there_have_it(make: Make, domain: str, default: str) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    replica.at_source(
        f"CREATE DOMAIN mood AS {domain}",
        f"ALTER TABLE t ADD q mood {f'DEFAULT {default}' if default else ''}",
        "INSERT INTO t VALUES (3)",
        "UPDATE t SET id = 4 WHERE id = 2",
        "ALTER TABLE t ADD r mood[]",
    )
    replica.settle()
    replica.at_source("ALTER DOMAIN mood SET DEFAULT 9", "INSERT INTO t (id) VALUES (5)")
    replica.settle()
