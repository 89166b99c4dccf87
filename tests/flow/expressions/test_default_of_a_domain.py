"""A new column of a domain that has a default: rows that are there show what they show at the source, NULL too."""

from __future__ import annotations

import pytest

from tests.support.replica import Make
from tests.support.suspending import ACCEPT, REFUSE, START, cycle_fails

NOTHING = "CREATE FUNCTION nothing() RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"


OF_NULL = ("NULL", "nullif(1, 1)", "nothing()")
LOOSE = ("numeric(8,2) DEFAULT 3", "below", "numeric(8,2) DEFAULT 3 CHECK (VALUE > 1)", "numeric(8,2)")
STRICT = "numeric DEFAULT 3 CHECK (VALUE IS NOT NULL)"


@pytest.mark.parametrize(
    ("domain", "default"),
    [*((domain, default) for domain in LOOSE for default in (*OF_NULL, "5", "")), (STRICT, "5"), (STRICT, "")],
)
def test_rows_that_are_there_have_it(make: Make, domain: str, default: str) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    replica.at_source(
        NOTHING,
        "CREATE DOMAIN below AS numeric(8,2) DEFAULT 4",
        f"CREATE DOMAIN mood AS {domain}",
        f"ALTER TABLE t ADD q mood {f'DEFAULT {default}' if default else ''}",
        "INSERT INTO t VALUES (3)",
        "UPDATE t SET id = 4 WHERE id = 2",
        "ALTER TABLE t ADD r mood[]",
    )
    replica.settle()
    replica.at_source("ALTER DOMAIN mood SET DEFAULT 9", "INSERT INTO t (id) VALUES (5)")
    replica.settle()


def test_a_table_that_comes_after_the_domain_has_changed(make: Make) -> None:
    """It is suspended when its column comes; another table brings the domain's default of later to the target."""
    replica = make("CREATE DOMAIN mood AS int", *START, "ALTER TABLE good ADD m mood")
    replica.at_target(REFUSE)
    replica.at_source("UPDATE bad SET v = 500 WHERE id = 1")
    cycle_fails(replica)
    replica.at_source(
        "ALTER TABLE bad ADD q mood", "ALTER DOMAIN mood SET DEFAULT 9", "ALTER TABLE good ADD n mood DEFAULT 1"
    )
    cycle_fails(replica)
    replica.at_target(ACCEPT)
    replica.settle()
    assert replica.rows("SELECT q FROM bad WHERE id = 1") == [(None,)]
