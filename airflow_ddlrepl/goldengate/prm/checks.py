"""Look at parameters of GoldenGate that depend on each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from airflow_ddlrepl.goldengate.parameters.clauses import DdlScope, Filters
from airflow_ddlrepl.goldengate.parameters.mapping import mapped
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter
from airflow_ddlrepl.goldengate.prm.statements import Statement
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.notation.name_pattern import matches, split_table_pattern

Found = tuple[Fate, str, str]
"""What becomes of something, what it is called, and why."""


class SessionSchema(NamedTuple):
    """A session schema is what MAPSESSIONSCHEMA says: which schema a session of another one has at the target."""

    at: int
    source: str
    target: str


def clauses_without_tables(filters: Filters | None) -> Iterator[tuple[str, str]]:
    """Yield what clauses about listed tables are called where no table is listed, and what that means."""
    for clause in (*filters.include, *filters.exclude) if filters is not None else ():
        if clause.scope is DdlScope.MAPPED:
            yield (
                f"DDL … MAPPED{f' OPTYPE {clause.optype}' if clause.optype else ''}",
                "there is no TABLE, so no statement is MAPPED, and the clause is never true: list the tables by TABLE",
            )


def session_schemas(
    parameters: Sequence[SessionSchema], maps: Sequence[MapParameter], side: str
) -> Iterator[tuple[int, Found]]:
    """Yield whether the MAPs give the schemas that MAPSESSIONSCHEMA gives to sessions. side: EXTRACT or REPLICAT."""
    for at, source, target in parameters:
        what = f"DDLOPTIONS MAPSESSIONSCHEMA {source}"
        name = TableName(source.strip('"'), "t")
        named = [one for one in maps if matches(split_table_pattern(one.source)[0], name.schema)]
        schemas = {mapped(name, one).schema.upper() for one in named}
        if side == "EXTRACT":
            yield at, (Fate.ATTENTION, what, "is an option of Replicat: write it there")
        elif schemas == {target.strip('"').upper()}:
            yield at, (Fate.SAFE, what, "a MAP gives names of that schema the same one at the target")
        else:
            why = f"names without a schema go where MAP says, and no MAP of {source}.* goes to {target}.*: write it"
            yield at, (Fate.REFUSED, what, why)


def several_trails(statements: Sequence[Statement]) -> Iterator[tuple[int, Found]]:
    """Yield the second parameter that names a trail, and what is left out for one trail alone."""
    trails = [one for one in statements if one.name in ("EXTTRAIL", "RMTTRAIL")]
    for one in trails[1:2]:
        why = (
            "TABLE and TABLEEXCLUDE of all trails are taken together: a channel has one trail; write a file for each"
            " trail whose tables differ"
        )
        yield one.at, (Fate.ATTENTION, one.name, why)
    for one in statements if len(trails) > 1 else ():
        if one.name in ("TABLEEXCLUDE", "SCHEMAEXCLUDE") and one.at > trails[0].at:
            why = "it is for the trail before it alone, and a channel has one trail: write a file for each trail"
            yield one.at, (Fate.REFUSED, one.name, why)


def truncates(names: Collection[str]) -> Iterator[Found]:
    """Yield what becomes of TRUNCATE where a file does not say it. names: of the file's parameters."""
    if not {"DDL", "GETTRUNCATES", "IGNORETRUNCATES"} & set(names):
        why = "a TRUNCATE is replicated here, and not by GoldenGate without GETTRUNCATES: write one of both"
        yield Fate.ATTENTION, "IGNORETRUNCATES", why
