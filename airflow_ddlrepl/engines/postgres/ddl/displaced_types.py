"""This module writes the SQL that renames a type which has the name of another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.ddl.blocks import block, text_literal
from airflow_ddlrepl.model.names import TableName, displaced_name
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind


def make_way(of: TypeDefinition) -> list[str]:
    """Return the SQL that renames a type of this name with other labels, attributes, checks or base.

    Such a type is not the source's type as it is now.
    """
    return [
        block(
            f"DECLARE {declared_type(of.schema, of.name)} fits boolean;"
            f" BEGIN SELECT {_FITS[of.kind](of)} INTO fits FROM pg_type t WHERE t.oid = there;"
            f" IF NOT coalesce(fits, true) THEN {step_aside(of.schema, of.name)} END IF; END"
        )
    ]


def declared_type(schema: str, name: str) -> str:
    """Return the declaration of the variables for `step_aside`: the type of that name."""
    return f"there regtype := to_regtype({text_literal(qualified(TableName(schema, name)))}); made record;"


def step_aside(schema: str, name: str) -> str:
    """Return the SQL that renames a type, so that its name is free.

    A range's multirange and (as a superuser) the functions of their names, which were made with it, are renamed, too.
    """
    escaped = qualified(TableName(schema, name)).replace("%", "%%").replace("'", "''")
    to = f"{text_literal(displaced_name(name, ''))} || there::oid::text"
    return (
        f"EXECUTE format('ALTER TYPE {escaped} RENAME TO %I', {to});"
        f" FOR made IN {_MADE_WITH_RANGE} LOOP"
        f" BEGIN EXECUTE format('ALTER %s %s RENAME TO %I', made.kind, made.name, {to} || made.suffix);"
        " EXCEPTION WHEN insufficient_privilege THEN NULL; END; END LOOP;"
    )


_MADE_WITH_RANGE = (
    "SELECT 'TYPE' AS kind, rngmultitypid::regtype::text AS name, '_m' AS suffix FROM pg_range WHERE rngtypid = there"
    " UNION ALL SELECT 'FUNCTION', objid::regprocedure::text, '' FROM pg_range JOIN pg_depend"
    " ON refobjid IN (rngtypid, rngmultitypid) AND refclassid = 'pg_type'::regclass"
    " WHERE rngtypid = there AND classid = 'pg_proc'::regclass AND deptype = 'i'"
)


def _labels_fit(of: TypeDefinition) -> str:
    """Return SQL that is true where an enum has exactly the labels of a definition.

    A label that is added now can't be used before the commit.
    """
    seen = "SELECT array_agg(enumlabel::text ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid"
    return f"typtype = 'e' AND ({seen}) IS NOT DISTINCT FROM {_array(of.labels)}"


def _attributes_fit(of: TypeDefinition) -> str:
    seen = (
        "SELECT array_agg(attname || ' ' || format_type(atttypid, atttypmod) ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped"
    )
    return f"typtype = 'c' AND ({seen}) IS NOT DISTINCT FROM {_array(f'{a.name} {a.type}' for a in of.attributes)}"


def _domain_fits(of: TypeDefinition) -> str:
    seen = (
        "SELECT array_agg(conname::text ORDER BY conname) FROM pg_constraint WHERE contypid = t.oid AND contype = 'c'"
    )
    return (
        f"typtype = 'd' AND format_type(typbasetype, typtypmod) = {text_literal(of.base or '')}"
        f" AND typnotnull = {str(of.not_null).lower()}"
        f" AND ({seen}) IS NOT DISTINCT FROM {_array(sorted(name for name, _ in of.constraints))}"
    )


def _array(texts: Iterable[str]) -> str:
    """Return texts as an SQL array, as array_agg returns it: null where there are none."""
    items = ", ".join(text_literal(text) for text in texts)
    return f"ARRAY[{items}]::text[]" if items else "NULL::text[]"


def _base_fits(typtype: str, base: str, key: str, of: TypeDefinition) -> str:
    """Return SQL that is true where a range or multirange type is made of the type of its definition.

    base, key: columns of pg_range, for what the type is made of and for itself.
    """
    seen = f"SELECT format_type({base}, NULL) FROM pg_range WHERE {key} = t.oid"
    return f"typtype = '{typtype}' AND ({seen}) = {text_literal(of.base or '')}"


_FITS: dict[TypeKind, Callable[[TypeDefinition], str]] = {
    TypeKind.ENUM: _labels_fit,
    TypeKind.COMPOSITE: _attributes_fit,
    TypeKind.DOMAIN: _domain_fits,
    TypeKind.RANGE: partial(_base_fits, "r", "rngsubtype", "rngtypid"),
    TypeKind.MULTIRANGE: partial(_base_fits, "m", "rngtypid", "rngmultitypid"),
}
