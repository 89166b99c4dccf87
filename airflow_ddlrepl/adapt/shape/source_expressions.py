"""This module asks of the expressions and texts of a source's table whether a target may have them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from airflow_ddlrepl.ddl.sql.expression import Dependence, dependence_of
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.server_traits import Trait
from airflow_ddlrepl.sql.expressions.allowed import Use, may_vary, why_no_key, why_not
from airflow_ddlrepl.sql.expressions.kinds import parse_bound, parse_collation, parse_type
from airflow_ddlrepl.sql.expressions.reader import Found
from airflow_ddlrepl.sql.expressions.words import NotOneText

OLDEST = 15
_TEXTS = ("text", "varchar", "bpchar", "name", "char")


class Evaluable:
    """This value answers for one table which of its expressions a target of some version may evaluate."""

    def __init__(self, table: Table, version: int) -> None:
        self.version = version
        self.definitions = table.types
        self.types = {(of.schema, of.name) for of in table.types}
        self._texts = {c.name for c in table.columns if not c.type.is_builtin or c.type.name in _TEXTS}
        self._fields = {attribute.name for of in table.types for attribute in of.attributes}

    def may_vary(self, text: str) -> frozenset[Trait]:
        """Return the traits of a server on which the value of an expression may depend."""
        return frozenset(map(Trait, may_vary(text, self._texts)))

    def why_not(self, text: str, use: Use) -> str:
        """Return why the target can't have an expression, to go on a sentence about it; empty: it can."""
        if dependence_of(text, self.types) is Dependence.FOREIGN:
            return str(Dependence.FOREIGN)
        return why_not(text, use, self.version, self.types, self._fields)


def require_texts(table: Table, version: int, strange: Collection[tuple[str, str]]) -> None:
    """Raise Unsupported where the target can't have the table whatever is left out of it.

    ADP-190: a text of its shape is not one type, collation or bound. ADP-191: its partition key calls what no target
    runs for its source. strange: functions (schema, name) of its partition key that are a stranger's at the target.
    """
    for kind, text, parse in _expressions(table):
        try:
            parse(text)
        except NotOneText as error:
            raise Unsupported(
                f"the {kind} `{text[:120]}` is not one {kind} and nothing else: it {error}",
                code="ADP-190",
                table=table.name,
                hint="change it at the source, or leave the table out of the channel",
            ) from None
    key = table.partition_key
    if key and (why := why_no_key(key, version, strange)):
        raise Unsupported(
            f"the partition key {key} {why}",
            code="ADP-191",
            table=table.name,
            hint="partition it by columns, by functions that every server has, or by functions that at the target"
            " belong to the role of its location or a superuser (ALTER FUNCTION … OWNER TO …);"
            " or leave it out of the channel",
        )


def _expressions(table: Table) -> Iterator[tuple[str, str, Callable[[str], Found]]]:
    for column in table.columns:
        yield "type", column.type.text, parse_type
        if column.collation:
            yield "collation", column.collation, parse_collation
    for of in table.types:
        yield from (("type", a.type, parse_type) for a in of.attributes)
        if of.base:
            yield "type", of.base, parse_type
        if of.collation:
            yield "collation", of.collation, parse_collation
    if table.partition:
        yield "partition bound", table.partition.bound, parse_bound
