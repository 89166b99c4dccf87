"""A user who may create tables in a replicated schema can't make schema changes other than they are, or hide them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.conftest import Databases
from tests.flow.capture.test_without_triggers import both
from tests.support.replica import Replica, channel_file, run

SETTINGS = ("state", "before", "rewritten", "taken_out", "runs_as", "named")
HOSTILE = (
    "CREATE TABLE shared.t (id int PRIMARY KEY, v int, p text)",
    "INSERT INTO shared.t VALUES (1, 1), (2, 2)",
    "CREATE TABLE shared.other (id int PRIMARY KEY, v int)",
    "INSERT INTO shared.other VALUES (1, 1)",
    "CREATE TABLE shared.single AS SELECT 1 AS id",
    # Each gives its argument plus 1000, and on the way does what no function in an expression should.
    "CREATE FUNCTION shared.clear(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    f" PERFORM set_config('ddlrepl.' || n, '', l) FROM unnest('{{{','.join(SETTINGS)}}}'::text[]) n,"
    " unnest(ARRAY[true, false]) l; RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.forge(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    """ PERFORM set_config('ddlrepl.' || n, '{"number": 1, "states": [], "tables": [], "snapshot": "1:1:"}', false)"""
    f" FROM unnest('{{{','.join(SETTINGS)}}}'::text[]) n; RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.again(i int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE s text; BEGIN"
    " s := current_setting('ddlrepl.state', true); EXECUTE 'ALTER TABLE shared.other ADD COLUMN IF NOT EXISTS x int';"
    " PERFORM set_config('ddlrepl.state', s, false); RETURN i + 1000; END $$",
    # The state as it is, but that nothing was rewritten; and the one of before the rewrite, written back in its middle.
    "CREATE FUNCTION shared.edit(i int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE s text; BEGIN"
    " s := current_setting('ddlrepl.state', true); IF s <> '' THEN PERFORM set_config('ddlrepl.state', left(s, 64)"
    " || jsonb_set(substr(s, 65)::jsonb, '{states,0,rewritten}', '[]'), false); END IF; RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.early() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN"
    " PERFORM set_config('my.kept', current_setting('ddlrepl.state'), false); RETURN 0; END $$",
    "CREATE FUNCTION shared.late(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    " PERFORM set_config('ddlrepl.state', current_setting('my.kept', true), false); RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.nested(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    " EXECUTE 'CREATE TEMP TABLE IF NOT EXISTS x (i int)'; RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.undone(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    " BEGIN EXECUTE 'ALTER TABLE shared.other ADD y int, DROP nothing'; EXCEPTION WHEN OTHERS THEN NULL; END;"
    " RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.discard(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    " EXECUTE 'DISCARD SEQUENCES'; RETURN i + 1000; END $$",
    "CREATE FUNCTION shared.elsewhere(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
    " PERFORM set_config('search_path', 'public', true), set_config('timezone', 'Asia/Tokyo', true); RETURN i; END $$",
    "CREATE FUNCTION shared.plus(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE AS"
    " 'SELECT a OPERATOR(pg_catalog.-) b'",
    "CREATE OPERATOR shared.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = shared.plus)",
    "CREATE FUNCTION shared.tend(a text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE a; END $$",
    "CREATE FUNCTION shared.hidden(i int) RETURNS int LANGUAGE sql AS"
    " $$ ALTER TABLE shared.other ALTER v TYPE bigint USING v + 1000; SELECT i $$",
    "CREATE FUNCTION shared.step(a text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE a; END $$",
)
EXPRESSIONS = (
    "clear(1)", "forge(1)", "again(1)", "edit(1)", "late(1) + shared.early()", "nested(1)", "undone(1)", "discard(1)",
)  # fmt: skip
FRAME = "PL/pgSQL function x() line 1 at EXECUTE"
TYPE = "ALTER TABLE shared.t ALTER v TYPE bigint"
HIDDEN = {
    "own function": f"DO $do$ BEGIN /* PL/pgSQL function tend( */ {TYPE} USING v + 1000; END $do$",
    "own functions": f"DO $do$ BEGIN /* PL/pgSQL function ddlrepl.tend( PL/pgSQL function on_ddl_command_end( */"
    f" EXECUTE '{TYPE} USING v + 1000 /* PL/pgSQL function ddlrepl.tend( */'; END $do$",
    "function of that name": f"SELECT shared.tend('{TYPE} USING v + 1000')",
    "function of that name, nested": f"DO $do$ BEGIN PERFORM shared.tend('{TYPE} USING v + 1000'); END $do$",
    "line comment": f"DO $do$ BEGIN EXECUTE E'{TYPE} -- \"\\n USING v + 1000'; END $do$",
    "comment": f"DO $do$ BEGIN EXECUTE E'{TYPE} /* \"\\n{FRAME}\\n */ USING v + 1000'; END $do$",
    "comment and a call": f'DO $do$ BEGIN PERFORM shared.step(E\'{TYPE} /* "\\n{FRAME}\\nSQL statement "SELECT 1 */'
    " USING v + 1000'); END $do$",
    "constant": f"DO $do$ BEGIN EXECUTE E'ALTER TABLE shared.t ALTER p SET DEFAULT ''7\"\\n{FRAME}'', ALTER v TYPE"
    " bigint USING v + 1000'; END $do$",
    "password": "ALTER TABLE shared.t ALTER p SET DEFAULT 'password', ALTER v TYPE bigint USING '7'::int + v",
    "in a default": "ALTER TABLE shared.single ADD x int DEFAULT shared.hidden(1)",
    "nested comment": f"{TYPE} /* /* */ ; */ USING v + 1000",
    "many": f"ALTER TABLE IF EXISTS nothing ALTER v TYPE bigint; /* /* */ {TYPE}; */ {TYPE} USING v + 1000",
    "a name with a sign": f"{TYPE} USING v + length('\u20ac$x$;')*1000 /*$x$*/",
}


@dataclass
class Mallory:
    """A role that may create in schema shared; `replica` has that schema and the victim's table in its channel."""

    replica: Replica
    name: str
    dsn: str

    def does(self, *statements: str) -> None:
        run(self.dsn, *statements)


@pytest.fixture
def mallory(databases: Databases, tmp_path: Path) -> Iterator[Mallory]:
    database = databases.source.rsplit("/", 1)[1]
    name = f"mallory_{database}"
    databases.server.create_role(name)
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(
        "CREATE TABLE public.victim (id int PRIMARY KEY, secret text)",
        "INSERT INTO public.victim VALUES (1, 'one')",
        f'CREATE SCHEMA shared; GRANT USAGE, CREATE ON SCHEMA shared TO "{name}"',
    )
    made = Mallory(replica, name, databases.server.dsn(database, name))
    made.does(*HOSTILE)
    replica.activate()
    yield made
    run(databases.source, f'DROP OWNED BY "{name}" CASCADE', f'DROP ROLE "{name}"')


@both
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_code_inside_a_statement_can_not_change_what_is_said_of_it(mallory: Mallory, expression: str) -> None:
    mallory.does(f"ALTER TABLE shared.t ADD n int DEFAULT shared.{expression}")
    mallory.replica.settle()
    assert mallory.replica.rows("SELECT id, n FROM shared.t ORDER BY 1") == [(1, 1001), (2, 1001)]
    mallory.does(f"ALTER TABLE shared.t ALTER v TYPE bigint USING v + shared.{expression}")
    mallory.replica.settle()
    assert mallory.replica.rows("SELECT id, v FROM shared.t ORDER BY 1") == [(1, 1002), (2, 1003)]
    mallory.does("ALTER TABLE shared.t ADD later int DEFAULT 5", "INSERT INTO shared.t (id) VALUES (3)")
    assert "shared.t" not in mallory.replica.settle().refresh.tables


@both
@pytest.mark.parametrize("how", HIDDEN)
def test_no_text_hides_what_a_statement_does(mallory: Mallory, how: str) -> None:
    mallory.does(HIDDEN[how], "INSERT INTO shared.t (id, v) VALUES (3, 3)")
    mallory.replica.settle()
    mallory.replica.settle()


def test_the_settings_that_count_are_those_at_the_beginning(mallory: Mallory) -> None:
    """Else her operator + would be taken for the server's, where the statement's text runs at the target."""
    replica = mallory.replica
    mallory.does("ALTER TABLE shared.t ADD CHECK (shared.elsewhere((v + 0.0)::int) IS NOT NULL)")
    replica.settle()
    replaying = {"replay_ddl": [{"tables": ["*.*"]}], "adapt_ddl": []}
    channel_file(replica.file.parent, replica.source, replica.target, "stop", **replaying)
    mallory.does(
        "SET search_path = shared, pg_catalog; SET timezone = 'America/New_York';"
        " ALTER TABLE shared.t ALTER v TYPE bigint USING v + 1",
    )
    replica.settle()
    assert replica.rows("SELECT id, v FROM shared.t ORDER BY 1") == [(1, 0), (2, 1)]


def test_a_state_of_before_can_not_be_used_again(mallory: Mallory) -> None:
    """She sees the state of her own statement, and writes it back after the statement has been undone."""
    with psycopg.connect(mallory.dsn) as session:
        session.execute(
            "CREATE FUNCTION shared.keep(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING"
            " MESSAGE = current_setting('ddlrepl.state'); END $$"
        )
        with pytest.raises(psycopg.errors.RaiseException) as seen, session.transaction():
            session.execute("ALTER TABLE shared.other ALTER v TYPE bigint USING shared.keep(v)")
        kept = str(seen.value.diag.message_primary)
        assert json.loads(kept[64:])["states"], kept
        session.execute("SELECT set_config('ddlrepl.state', %s, false)", [kept])
        session.execute("ALTER TABLE shared.t ALTER v TYPE bigint USING v + 1000")
        session.execute("SELECT set_config('ddlrepl.state', %s, false)", [kept])
        session.execute("ALTER TABLE shared.t ADD n int DEFAULT shared.clear(1)")
        session.execute("SELECT set_config('ddlrepl.state', %s, false)", [kept])
        session.execute("ALTER TABLE shared.other DROP v")
    mallory.replica.settle()
    assert mallory.replica.rows("SELECT v, n FROM shared.t ORDER BY 1") == [(1001, 1001), (1002, 1001)]


def test_a_forged_default_reaches_no_target(mallory: Mallory) -> None:
    """What the state says of a table before a statement becomes SQL at a target: it has to be ours."""
    forged = json.dumps({"snapshot": "1:1:", "tables": [{"columns": [{"default": "0; DROP TABLE public.victim; --"}]}]})
    mallory.does(
        "CREATE FUNCTION shared.say(i int) RETURNS int LANGUAGE plpgsql AS $f$ BEGIN"
        f" PERFORM set_config('ddlrepl.before', $x${forged}$x$, true); RETURN i; END $f$",
        "ALTER TABLE shared.t ADD n int DEFAULT shared.say(1)",
    )
    with psycopg.connect(mallory.replica.source) as connection:
        messages = connection.execute(
            "SELECT data FROM pg_logical_slot_peek_binary_changes('ddlrepl_shop', NULL, NULL, 'proto_version', '1',"
            " 'publication_names', 'ddlrepl_shop', 'messages', 'true') WHERE get_byte(data, 0) = ascii('M')"
        ).fetchall()
    assert not any(b'"default": "0; DROP' in bytes(data) for (data,) in messages)
    mallory.replica.settle()
    assert mallory.replica.rows("SELECT secret FROM public.victim") == [("one",)]
