"""What the source computes reaches targets that compute nothing, also when it computes something else from then on."""

from __future__ import annotations

from tests.conformance.conftest import MakePlace

DOUBLED = "CREATE FUNCTION public.doubled(n int) RETURNS int IMMUTABLE LANGUAGE sql RETURN n * 2"
TABLE = "CREATE TABLE g (id int PRIMARY KEY, n int, up text GENERATED ALWAYS AS (upper(n::text)) STORED,"


def test_rows_get_the_values_of_another_expression(make_place: MakePlace) -> None:
    """One of its columns is computed with a function that no target has."""
    place = make_place()
    place.replica.at_source(
        DOUBLED,
        f"{TABLE} twice int GENERATED ALWAYS AS (doubled(n)) STORED)",
        "INSERT INTO g VALUES (1, 10), (2, NULL)",
    )
    place.replica.activate()
    place.settle()
    place.replica.at_source(
        "INSERT INTO g VALUES (3, 30)", "ALTER TABLE g ALTER twice SET EXPRESSION AS (doubled(n) + 1)"
    )
    place.settle()
    place.replica.at_source("ALTER TABLE g ALTER up SET EXPRESSION AS (n::text || 'h')", "INSERT INTO g VALUES (4, 40)")
    place.settle()
    place.replica.at_source("ALTER TABLE g RENAME n TO number", "UPDATE g SET number = 11 WHERE id = 1")
    refreshed = place.replica.replicate().refresh
    assert refreshed is None or not refreshed.tables
    place.settle()
