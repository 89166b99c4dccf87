"""This module writes the trigger function of a synchronous capture: its rules, and what is done to a row LCR.

The function finds its rules by the name that the table has when it is changed, and looks at the table's columns each
time: DDL between two changes makes no statement fail, and none of its columns is missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SHAPES, VALUES
from airflow_ddlrepl.engines.postgres.sync_capture.condition_sql import ConditionWriter
from airflow_ddlrepl.engines.postgres.sync_capture.ruled_tables import RuledTable
from airflow_ddlrepl.engines.postgres.sync_capture.transformation_sql import statements
from airflow_ddlrepl.engines.postgres.sync_capture.value_sql import NotInSql
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.rules.rule import Rule

PREFIX = "sql:"
_SETTINGS = {**VALUES, "search_path": SHAPES["search_path"], "jit": "off", "row_security": "off"}
_HEAD = """
DECLARE
    relation oid := TG_RELID;
    object_owner text := TG_TABLE_SCHEMA;
    object_name text := TG_TABLE_NAME;
    command text := TG_OP;
    client_name text := /*client*/;
    captured_at timestamptz := clock_timestamp();
    tag text;
    shape record;
    described record;
    old_row jsonb := '{}';
    new_row jsonb := '{}';
    kinds jsonb;
    renamed jsonb := '{}';
    made jsonb[];
    lcr jsonb;
BEGIN
    IF TG_NARGS > 0 THEN  -- a partition: the server has copied its row trigger from the partitioned table
        relation := ddlrepl.sync_capture_table(TG_RELID, TG_NAME);
        SELECT n.nspname, c.relname INTO object_owner, object_name
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation;
    END IF;
    IF (/*is_ruled*/) IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    tag := ddlrepl.sync_capture_tag();
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM ddlrepl.sync_capture_require_tag(/*client*/, tag);
        INSERT INTO ddlrepl.captured_lcrs (channel, client, kind, table_id, schema_name, table_name, tag, captured)
        VALUES (/*channel*/, /*client*/, 'truncate', relation, object_owner, object_name, tag, captured_at);
        RETURN NULL;
    END IF;
    shape := ddlrepl.sync_capture_shape(TG_RELID);
"""
_ROWS = """
        IF shape.columns = /*columns*/ THEN
            kinds := /*kinds*/;
            IF TG_OP <> 'INSERT' THEN
                old_row := /*old*/;
            END IF;
            IF TG_OP <> 'DELETE' THEN
                new_row := /*new*/;
            END IF;
        ELSE
            SELECT s.names, s.kinds, s.image INTO STRICT described FROM ddlrepl.captured_shapes s
            WHERE s.id = shape.shape_id;
            kinds := described.kinds;
            IF TG_OP <> 'INSERT' THEN
                EXECUTE described.image INTO STRICT old_row USING OLD, described.names;
            END IF;
            IF TG_OP <> 'DELETE' THEN
                EXECUTE described.image INTO STRICT new_row USING NEW, described.names;
            END IF;
        END IF;
"""
"""The rows as texts: of columns as they were when the table was prepared by plain expressions, which are faster."""
_TAIL = """
    PERFORM ddlrepl.sync_capture_require_tag(/*client*/, tag);
    IF made IS NULL THEN
        INSERT INTO ddlrepl.captured_lcrs (channel, client, table_id, schema_name, table_name, command,
            shape_id, renamed, old_values, new_values, tag, captured)
        VALUES (/*channel*/, /*client*/, relation, object_owner, object_name, command, shape.shape_id, renamed,
            old_row, new_row, tag, captured_at);
        RETURN NULL;
    END IF;
    FOREACH lcr IN ARRAY made LOOP
        INSERT INTO ddlrepl.captured_lcrs (channel, client, table_id, schema_name, table_name, command,
            shape_id, renamed, old_values, new_values, tag, captured)
        VALUES (/*channel*/, /*client*/, relation, lcr ->> 'owner', lcr ->> 'name', lcr ->> 'command',
            shape.shape_id, ddlrepl.sync_capture_renamed(renamed, kinds, lcr),
            CASE lcr ->> 'command' WHEN 'INSERT' THEN '{}'
                ELSE ddlrepl.sync_capture_texts(coalesce(lcr -> 'old', '{}')) END,
            CASE lcr ->> 'command' WHEN 'DELETE' THEN '{}'
                ELSE ddlrepl.sync_capture_texts(coalesce(lcr -> 'new', '{}')) END,
            tag, captured_at);
    END LOOP;
    RETURN NULL;
END
"""
_LCR = """jsonb_build_object('owner', object_owner, 'name', object_name, 'command', command,
                'source_database', /*database*/, 'tag', encode(convert_to(tag, 'UTF8'), 'hex'),
                'transaction_id', pg_current_xact_id()::text, 'source_time', captured_at AT TIME ZONE 'UTC',
                'old', old_row, 'new', new_row)"""
_CALLER = "jsonb_build_object('client', client_name, 'kind', 'sync_capture', 'user', current_user)::text"
"""The call context as `CallContext` of streams.queue has it, which functions of the source read as a setting."""


@dataclass(frozen=True, slots=True)
class CaptureNames:
    """These are the names of what a synchronous capture has in the database; two captures share none."""

    channel: str
    client: str

    @property
    def function(self) -> str:
        """Return the name of its trigger function, in our schema."""
        return f"sync_capture_{self._own}"

    @property
    def trigger(self) -> str:
        """Return the name of its row triggers.

        Triggers run by name: it comes behind those of foreign keys, whose check has waited for other transactions by
        then, and before those of users, whose changes follow from this one.
        """
        return f"_ddlrepl_{self._own}"

    @property
    def truncate_trigger(self) -> str:
        """Return the name of its triggers that note a TRUNCATE."""
        return f"_ddlrepl_truncate_{self._own}"

    @property
    def _own(self) -> str:
        digest = hashlib.sha256(f"{self.channel}\0{self.client}".encode()).hexdigest()[:8]
        plain = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in self.client)
        return f"{plain[:24]}_{digest}"


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """These are the columns that a table has while it is prepared.

    text: as `ddlrepl.sync_capture_shape` has them. kinds: as `ddlrepl.captured_shapes` has them, JSON.
    """

    text: str
    names: tuple[str, ...]
    kinds: str


NO_COLUMNS = KnownColumns("?", (), "{}")


@dataclass(frozen=True, slots=True)
class FunctionWriter:
    """A function writer writes trigger functions.

    source_database: as LCRs have it. functions: the allow-list of custom functions, by the names that rules use.
    letters: a collation that knows upper and lower case; empty: there is none.
    """

    source_database: str
    functions: Mapping[str, str] = field(default_factory=dict)
    letters: str = ""

    def body(self, names: CaptureNames, tables: Sequence[RuledTable], known: Mapping[TableName, KnownColumns]) -> str:
        """Return a function's body. known: columns of the tables that are there.

        Raises RuleError RUL-151 for a condition, RUL-152 for a custom function.
        """
        marks = {
            "/*is_ruled*/": " OR ".join(_is(table.name) for table in tables) or "false",
            "/*channel*/": literal(names.channel),
            "/*client*/": literal(names.client),
        }
        branches = "".join(self._branch(number, table, known) for number, table in enumerate(tables))
        chosen = f"    {branches}    END IF;" if branches else ""
        return f"{_filled(_HEAD, marks)}{chosen}{_filled(_TAIL, marks)}"

    def _branch(self, number: int, table: RuledTable, known: Mapping[TableName, KnownColumns]) -> str:
        """Return what is done for a table: the first true rule with an action acts; else a true rule takes the row."""
        acting = [rule for rule in table.rules if rule.action.changes_messages]
        others = [rule for rule in table.rules if not rule.action.changes_messages]
        parts = [f"{'ELS' if number else ''}IF {_is(table.name)} THEN{_rows(known.get(table.name, NO_COLUMNS))}"]
        for at, rule in enumerate(acting):
            parts.append(f"        {'ELS' if at else ''}IF {self._condition(rule)} THEN")
            parts += [f"            {one}" for one in (*statements(rule.action), *self._custom(rule)) if one]
            parts.append("            NULL;")
        is_other = " OR ".join(map(self._condition, others)) or "false"
        word = "ELSIF" if acting else "IF"
        parts.append(f"        {word} ({is_other}) IS NOT TRUE THEN\n            RETURN NULL;\n        END IF;\n")
        return "\n".join(parts)

    def _condition(self, rule: Rule) -> str:
        try:
            return ConditionWriter(self.source_database, self.letters).condition(rule.condition)
        except NotInSql as error:
            raise RuleError(
                f"rule {rule.name} can't be evaluated by a trigger: {error}",
                code="RUL-151",
                hint="write the condition in another way, or capture the table from the log",
            ) from None

    def _custom(self, rule: Rule) -> Iterator[str]:
        """Yield the call of a rule's custom function, which comes last."""
        if not rule.action.function:
            return
        called = literal(rule.action.function)
        function = ".".join(map(quote, self.function_of(rule)))
        is_array = "true" if rule.action.is_array_function else "false"
        lcr = _filled(_LCR, {"/*database*/": literal(self.source_database)})
        yield f"PERFORM set_config('ddlrepl.caller', {_CALLER}, true);"
        checked = f"ddlrepl.sync_capture_checked({function}({lcr}), {called}, {is_array})"
        yield f"made := ARRAY(SELECT one FROM {checked} one);"

    def function_of(self, rule: Rule) -> tuple[str, str]:
        """Return schema and name of a rule's custom function.

        Raises RuleError RUL-152 for one that the allow-list does not have as a function of the source.
        """
        name = rule.action.function
        found = self.functions.get(name, "")
        try:
            schema, called = NameCase.LOWER.parts(found.removeprefix(PREFIX)) if found.startswith(PREFIX) else ()
            return schema, called
        except ValueError:
            raise RuleError(
                f"rule {rule.name}: the transformation function {name} is {found or 'not listed'}, and a synchronous"
                " capture calls functions of the source alone",
                code="RUL-152",
                hint=f"streams.functions: {{{name}: 'sql:schema.function'}}: a function that takes and gives jsonb",
            ) from None


def settings() -> list[str]:
    """Return the settings of a trigger function as the catalog has them."""
    return sorted(f"{name.lower()}={value}" for name, value in _SETTINGS.items())


def definition(names: CaptureNames, body: str) -> str:
    """Return the statement that creates a trigger function, or puts it in the place of an older one.

    It runs with its owner's rights, so that who writes the table needs none of ours.
    """
    tagged = "$capture$"
    while tagged in body:
        tagged = f"${tagged.strip('$')}_$"
    settings = " ".join(
        f"SET {name} = {value if name == 'search_path' else literal(value)}" for name, value in _SETTINGS.items()
    )
    return (
        f"CREATE OR REPLACE FUNCTION ddlrepl.{quote(names.function)}() RETURNS trigger LANGUAGE plpgsql"
        f" SECURITY DEFINER {settings} AS {tagged}{body}{tagged}"
    )


def _rows(columns: KnownColumns) -> str:
    """Return the statements that read a row's values as texts."""
    listed = ", ".join(map(literal, columns.names))
    images = {}
    for mark, row in (("/*old*/", "OLD"), ("/*new*/", "NEW")):
        fields = [f"{row}.{quote(name)}" for name in columns.names]
        texts = ", ".join(f"CASE WHEN {one} IS DISTINCT FROM NULL THEN format('%s', {one}) END" for one in fields)
        images[mark] = f"jsonb_object(ARRAY[{listed}]::text[], ARRAY[{texts}]::text[])"
    images["/*columns*/"], images["/*kinds*/"] = literal(columns.text), f"{literal(columns.kinds)}::jsonb"
    return _filled(_ROWS, images)


def _filled(text: str, marks: Mapping[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def _is(table: TableName) -> str:
    return f"(object_owner = {literal(table.schema)} AND object_name = {literal(table.name)})"
