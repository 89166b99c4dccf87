"""DDL stands in the log in commit order, with every touched table's shape after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection

from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.pgoutput.xid_snapshot import XidSnapshot
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Identity, Table
from tests.conftest import Databases
from tests.support.source_log import Said, run

pytestmark = pytest.mark.parametrize("databases", [18, 15], indirect=True)


class Story:
    """A source with one channel of everything, and a user."""

    def __init__(self, dsn: str, user: Connection[Any], scope: Scope) -> None:
        self.user = user
        self.source = PostgresSource(dsn, channel="shop", publication="p", slot=f"s_{dsn[-8:]}", scope=scope)

    def given(self, *statements: str) -> None:
        for statement in statements:
            self.user.execute(statement.encode())
        self.source.activate()

    def do(self, *statements: str) -> Said:
        return run(self.source, self.user, *statements)


@pytest.fixture
def story(databases: Databases) -> Iterator[Story]:
    with connect(databases.source) as user:
        made = Story(databases.source, user, Scope(("*.*",), ("*.skip*",), (Joining("*"),)))
        yield made
        made.source.close()


def test_statements_stand_between_the_rows(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY, v text)")
    said = story.do(
        "BEGIN; INSERT INTO t VALUES (1, 'a'); ALTER TABLE t ADD w int DEFAULT 7; INSERT INTO t VALUES (2, 'b', 3);"
        " ALTER TABLE t DROP v; INSERT INTO t VALUES (3, 4); COMMIT"
    )
    assert said.letters == "BRIMRIMRIC"
    first, second = said.ddl
    assert [c["name"] for c in first["tables"][0]["columns"]] == ["id", "v", "w"]
    assert first["tables"][0]["columns"][2]["missing"] == "7"
    assert [(c["id"], c["name"]) for c in second["tables"][0]["columns"]] == [(1, "id"), (3, "w")]


def test_order_holds_across_savepoints(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    said = story.do(
        "BEGIN; INSERT INTO t VALUES (1); SAVEPOINT a; ALTER TABLE t ADD v int; RELEASE a; INSERT INTO t VALUES (2, 2);"
        " SAVEPOINT b; INSERT INTO t VALUES (3, 3); ALTER TABLE t DROP v; RELEASE b; INSERT INTO t VALUES (4); COMMIT"
    )
    assert said.letters == "BRIMRIIMRIC"


def test_the_message_is_what_inspection_sees(story: Story) -> None:
    story.given("CREATE TYPE mood AS ENUM ('ok'); CREATE DOMAIN d AS numeric(8,2) CHECK (VALUE > 0)")
    said = story.do(
        "CREATE TABLE \"Odd; %s 'n\" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m mood[] DEFAULT '{ok}',"
        ' d d, "ü""x" text COLLATE "C", t timestamptz DEFAULT \'2020-01-01 00:00+05\', g int GENERATED ALWAYS'
        " AS (1) STORED)"
    )
    with connect(story.source.dsn) as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET search_path = public")
        shapes = inspect(connection)
    assert said.tables() == {shapes[0].name.name: shapes[0]}


def test_rolled_back_statements_leave_nothing(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    said = story.do(
        "BEGIN; SAVEPOINT a; ALTER TABLE t ADD x int; CREATE TABLE u (); ROLLBACK TO a; ALTER TABLE t ADD y"
        " int; COMMIT",
        "BEGIN; CREATE TABLE w (); ROLLBACK",
    )
    assert said.letters == "BMC"
    assert [c["name"] for c in said.one["tables"][0]["columns"]] == ["id", "y"]


def test_statements_inside_functions_are_exact(story: Story) -> None:
    story.given(
        "CREATE FUNCTION make(n text) RETURNS void LANGUAGE plpgsql AS"
        " $$ BEGIN EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY, t text DEFAULT ''\n\"/*'')', n); END $$",
        "CREATE FUNCTION wrap() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE w (id int); END $$",
    )
    said = story.do(
        "SELECT make('one'), make('two')",
        "DO $$ BEGIN PERFORM wrap(); CREATE TABLE odd (t text DEFAULT '\"\n\"'); END $$",
        "DO $$ BEGIN CREATE TABLE three (i int); ALTER TABLE three ADD j int; END $$",
        "CREATE TABLE four (i int);",
        "CREATE TABLE five (i int); DROP TABLE four",
    )
    assert [m["statement"] for m in said.ddl] == [
        *(f"CREATE TABLE {name} (id int PRIMARY KEY, t text DEFAULT '\n\"/*')" for name in ("one", "two")),
        "CREATE TABLE w (id int)",
        None,  # where it ends can't be told for certain
        "CREATE TABLE three (i int)",
        "ALTER TABLE three ADD j int",
        "CREATE TABLE four (i int);",
        *(None, None),
    ]
    assert [m["tag"] for m in said.ddl][-2:] == ["CREATE TABLE", "DROP TABLE"]
    assert said.ddl[-1]["query"] == "CREATE TABLE five (i int); DROP TABLE four"


def test_settings_are_the_users(story: Story) -> None:
    story.given("CREATE SCHEMA app")
    story.user.execute("SET search_path = app, public; SET TimeZone = 'Asia/Tokyo'")
    story.user.execute("SET application_name = 'migrator'; SET ddlrepl.tag = 'release 7'")
    message = story.do("/* why */ CREATE TABLE t (i int) -- so").one
    assert XidSnapshot.parse(message["settings"].pop("snapshot")).xmax > 0
    assert message["settings"] == {
        "search_path": "app, public",
        "timezone": "Asia/Tokyo",
        "application_name": "migrator",
        "role": "postgres",
        "tag": "release 7",
    }
    assert message["query"] == message["statement"] == "/* why */ CREATE TABLE t (i int) -- so"
    assert message["tables"][0]["name"] == ["app", "t"]


def test_created_with_rows_is_filled(story: Story) -> None:
    story.given("CREATE TABLE src (i int)", "INSERT INTO src VALUES (1)")
    said = story.do(
        "CREATE TABLE a AS SELECT * FROM src",
        "SELECT * INTO b FROM src",
        "CREATE TABLE c AS SELECT * FROM src WITH NO DATA",
        "CREATE TABLE d (LIKE src)",
    )
    shapes = said.tables()
    assert {n for n, t in shapes.items() if any(t.id in m["filled"] for m in said.ddl)} == {"a", "b"}
    assert "I" not in said.letters
    assert story.do("INSERT INTO a VALUES (2)").letters == "BRIC"


def test_renamed_into_scope_is_filled_and_out_of_it_stays(story: Story) -> None:
    story.given(
        "CREATE TABLE skip_me (i int)", "INSERT INTO skip_me VALUES (1)", "CREATE SCHEMA s; CREATE TABLE s.t (i int)"
    )
    assert story.do("ALTER TABLE skip_me ADD j int").one["tables"] == []
    message = story.do("ALTER TABLE skip_me RENAME TO found").one
    assert message["filled"] == [message["tables"][0]["id"]]
    said = story.do(
        "ALTER TABLE s.t RENAME TO skip_t", "ALTER TABLE s.skip_t SET SCHEMA public", "ALTER TABLE skip_t"
        " RENAME i TO k",
        "ALTER SCHEMA s RENAME TO z", "INSERT INTO skip_t VALUES (1)",
    )  # fmt: skip
    names = [Said(ddl=[m]).tables() for m in said.ddl if m["tables"]]
    assert [t.name for shapes in names for t in shapes.values()] == [
        TableName("s", "skip_t"), TableName("public", "skip_t"), TableName("public", "skip_t"),
    ]  # fmt: skip
    assert said.letters.endswith("BRIC")


def test_a_schemas_new_name_reaches_its_tables_and_types(story: Story) -> None:
    story.given(
        "CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('a'); CREATE TABLE s.t (i int); CREATE TABLE u (m s.mood[])"
    )
    shapes = story.do("ALTER SCHEMA s RENAME TO z").tables()
    assert shapes["t"].name == TableName("z", "t")
    assert shapes["u"].columns[0].type.text == "z.mood[]"


def test_drops_name_what_they_take_along(story: Story) -> None:
    story.given(
        "CREATE SCHEMA s; CREATE TABLE s.a (i int); CREATE TABLE s.b (i int PRIMARY KEY)",
        "CREATE TYPE mood AS ENUM ('a'); CREATE DOMAIN d AS int; CREATE TABLE t (i int PRIMARY KEY, m mood, d"
        " d, r int)",
        "CREATE SEQUENCE q; ALTER TABLE t ALTER r SET DEFAULT nextval('q')",
        "CREATE TYPE pair AS (m mood, n int); CREATE TABLE u (p pair)",
    )
    said = story.do("DROP SCHEMA s CASCADE")
    assert sorted(name for _, (_, name) in said.one["dropped"]) == ["a", "b"]
    shapes = story.do("DROP TYPE mood CASCADE").tables()
    assert [c.name for c in shapes["t"].columns] == ["i", "d", "r"]
    assert [a.name for a in shapes["u"].types[0].attributes] == ["n"]
    assert [c.name for c in story.do("DROP DOMAIN d CASCADE").tables()["t"].columns] == ["i", "r"]
    assert story.do("DROP SEQUENCE q CASCADE").tables()["t"].columns[1].default is None
    message = story.do("DROP TABLE t, u").one
    assert sorted(name for _, (_, name) in message["dropped"]) == ["t", "u"]
    assert story.source.membership.published() == set()


TYPE_CHANGES = (
    "ALTER TYPE mood ADD VALUE 'c' BEFORE 'b'",
    "ALTER TYPE mood RENAME VALUE 'a' TO 'A'",
    "ALTER TYPE mood RENAME TO feeling",
    "ALTER TYPE feeling SET SCHEMA other",
    "ALTER TYPE pair ADD ATTRIBUTE extra text",
    "ALTER TYPE pair RENAME ATTRIBUTE n TO number CASCADE",
    "ALTER TYPE pair DROP ATTRIBUTE number CASCADE",
    "ALTER DOMAIN price ADD CONSTRAINT big CHECK (VALUE > 5)",
    "ALTER DOMAIN price DROP CONSTRAINT big",
    "ALTER DOMAIN price SET NOT NULL",
    "ALTER DOMAIN price SET DEFAULT 9",
    "ALTER DOMAIN price RENAME CONSTRAINT price_check TO positive",
    "ALTER DOMAIN price RENAME TO cost",
    "ALTER TYPE span RENAME TO reach",
    "ALTER FUNCTION made_up() RENAME TO invented",
    "ALTER SEQUENCE numbers RENAME TO digits",
)


def test_types_tell_every_table_that_uses_them(story: Story) -> None:
    story.given(
        "CREATE SCHEMA other; CREATE TYPE mood AS ENUM ('a', 'b'); CREATE DOMAIN price AS numeric(9,2) CHECK"
        " (VALUE > 0)",
        "CREATE TYPE pair AS (m mood, n int); CREATE DOMAIN pairs AS pair[]; CREATE TYPE span AS RANGE"
        " (subtype = mood)",
        "CREATE FUNCTION made_up() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE SEQUENCE numbers",
        "CREATE TABLE t (i int PRIMARY KEY DEFAULT made_up(), j int DEFAULT nextval('numbers'), p pairs, s"
        " span, c price)",
        "CREATE TABLE unrelated (i int)",
    )
    before = inspect(story.source.connection)
    for statement in TYPE_CHANGES:
        shapes = story.do(statement).tables()
        after = inspect(story.source.connection)
        assert [t.name.name for t in after if t not in before] == ["t"], statement
        assert shapes == {"t": after[0]}, statement
        before = after


def test_rewritten_tables_are_listed(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '2')")
    rewritten = [
        bool(story.do(statement).one["rewritten"])
        for statement in (
            "ALTER TABLE t ALTER v TYPE int USING v::int",
            "ALTER TABLE t ADD r float DEFAULT random()",
            "ALTER TABLE t ADD c int DEFAULT 5",
            "ALTER TABLE t ADD n timestamptz DEFAULT now()",
            "ALTER TABLE t ALTER v TYPE bigint",
            "ALTER TABLE t RENAME v TO w",
        )
    ]
    assert rewritten == [True, True, False, False, True, False]


def test_partitions(story: Story) -> None:
    story.given("CREATE TABLE old (id int, day date NOT NULL)", "INSERT INTO old VALUES (1, '2019-05-05')")
    said = story.do(
        "CREATE TABLE sales (id int, day date NOT NULL) PARTITION BY RANGE (day)",
        "CREATE TABLE skip_2020 PARTITION OF sales FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')",
        "CREATE TABLE sales_2020 PARTITION OF sales FOR VALUES FROM ('2021-01-01') TO ('2022-01-01')",
    )
    shapes = said.tables()
    assert shapes["sales"].partition_key == "RANGE (day)"
    assert shapes["sales_2020"].partition is not None and shapes["sales_2020"].partition.of == shapes["sales"].id
    assert shapes["sales_2020"].identity is Identity.FULL and "skip_2020" not in shapes
    said = story.do("ALTER TABLE sales ATTACH PARTITION old FOR VALUES FROM ('2019-01-01') TO ('2020-01-01')")
    assert said.tables()["old"].partition is not None and said.one["filled"] == []
    assert set(story.do("ALTER TABLE sales ADD note text").tables()) == {"sales", "sales_2020", "old"}
    assert story.do("INSERT INTO sales VALUES (2, '2019-06-06')").letters == "BRIC"
    assert story.do("TRUNCATE sales").letters == "BRRTC"
    assert story.do("ALTER TABLE sales DETACH PARTITION old").tables()["old"].partition is None
    message = story.do("DROP TABLE sales").one
    assert sorted(name for _, (_, name) in message["dropped"]) == ["sales", "sales_2020"]


def test_what_is_nobodys_business_leaves_no_message(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    said = story.do(
        "CREATE TEMP TABLE x (i int); ALTER TABLE x ADD j int; DROP TABLE x",
        "BEGIN; CREATE TEMP TABLE y (i int) ON COMMIT DROP; COMMIT",
        "VACUUM FULL t",
        "REINDEX TABLE t",
        "ANALYZE t",
        "CREATE PUBLICATION mine FOR TABLE t; DROP PUBLICATION mine",
    )
    assert said.letters == ""


def test_passwords_in_the_query_string_are_hidden(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    role = f"r_{story.source.dsn[-8:]}"
    message = story.do(f"CREATE ROLE {role} PASSWORD 'hunter2'; ALTER TABLE t ADD i int; DROP ROLE {role}").one
    assert "hunter2" not in str(message) and "PASSWORD '***'" in message["query"]


def test_replica_role_does_not_silence_it(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    story.user.execute("SET session_replication_role = replica")
    assert story.do("ALTER TABLE t ADD i int").one["tag"] == "ALTER TABLE"


def test_users_without_any_right_on_the_helper_can_run_ddl(story: Story, databases: Databases) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    name = f"dev_{databases.source[-8:]}"
    databases.server.create_role(name)
    story.user.execute(f'GRANT CREATE ON SCHEMA public TO "{name}"'.encode())
    with connect(databases.server.dsn(databases.source.rsplit("/", 1)[1], name)) as developer:
        developer.execute("CREATE TABLE mine (v text)")
        said = run(
            story.source,
            developer,
            "ALTER TABLE mine ADD w int",
            "INSERT INTO mine VALUES ('a')",
            "UPDATE mine SET w = 1",
        )
        assert said.letters == "BMCBRICBUC"
        developer.execute("DROP TABLE mine")
    story.user.execute(f'DROP OWNED BY "{name}"; DROP ROLE "{name}"'.encode())


def test_a_failure_inside_leaves_a_gap_and_the_users_statement_alone(story: Story) -> None:
    story.given("CREATE TABLE t (id int PRIMARY KEY)")
    story.user.execute("ALTER TABLE ddlrepl.member RENAME TO broken")
    with pytest.raises(AssertionError, match="gap"):
        story.do("ALTER TABLE t ADD i int")
    assert story.user.execute("SELECT i FROM t").fetchall() == []


def test_unusual_names(story: Story) -> None:
    story.given("SELECT 1")
    odd = ["a;b", "per%cent", 'qu"ote', "it's", "SELECT", "ünï 表", "x" * 63, "back\\slash", " ", "new\nline"]
    for name in odd:
        quoted = '"' + name.replace('"', '""') + '"'
        with connect(story.source.dsn) as user:
            user.execute(f"CREATE SCHEMA {quoted}; CREATE TABLE {quoted}.{quoted} ({quoted} text)".encode())
            user.execute(
                f"INSERT INTO {quoted}.{quoted} VALUES ('a'); UPDATE {quoted}.{quoted} SET {quoted} = 'b'".encode()
            )
    assert len(story.source.membership.published()) == len(odd) and story.source.membership.unpublished_reasons() == {}
    assert {t.name for t in inspect(story.source.connection)} == {TableName(n, n) for n in odd}


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("ALTER TABLE t ADD w int", ["t"]),
        ("ALTER TABLE S.T ADD w int", ["t"]),
        ("DO $$ BEGIN EXECUTE 'ALTER TABLE ' || chr(116) || ' ADD w int'; END $$", ["t"]),
        ('ALTER TABLE "x ""y" ADD w int', ['x "y']),
        ("ALTER TABLE größe ADD w int", ["größe"]),
        ("ALTER TABLE p ADD w int", ["p", "p1"]),
        ("CREATE INDEX ON t (v)", ["t"]),
        ("ALTER INDEX t_pkey RENAME TO k", ["t"]),
        ("ALTER TYPE mood ADD VALUE 'bad'", ["t", 'x "y']),
        ("ALTER SCHEMA s RENAME TO r", ["größe", "p", "p1", "t", 'x "y']),
        ("DROP TABLE t", ["t"]),
        ("ALTER TABLE t ADD a int; ALTER TABLE p ADD b int", ["t", "p", "p1"]),
        ("CREATE TABLE u (id int); COMMENT ON TABLE t IS 'u'", []),
    ],
)
def test_what_a_statement_names_is_told_as_it_was_before(story: Story, statement: str, named: list[str]) -> None:
    story.given(
        "CREATE SCHEMA s; SET search_path = s",
        "CREATE TYPE mood AS ENUM ('ok')",
        "CREATE TABLE t (id int PRIMARY KEY, v mood)",
        'CREATE TABLE "x ""y" (id int PRIMARY KEY, v mood)',
        "CREATE TABLE größe (id int PRIMARY KEY)",
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
    )
    before = {shape.id: shape for shape in inspect(story.user)}
    told = [message for message in story.do(statement).ddl if message["before"]]
    shapes = [Table.from_json(shape) for message in told for shape in message["before"]]
    assert sorted(shape.name.name for shape in shapes) == sorted(named)
    assert all(shape == before[shape.id] for shape in shapes)
    assert all(XidSnapshot.parse(message["settings"]["snapshot_before"]) for message in told)


def test_many_tables_in_one_query_string_are_not_looked_at_before_each_statement(story: Story) -> None:
    story.given(*(f"CREATE TABLE t{i} (id int PRIMARY KEY)" for i in range(21)))
    said = story.do(";".join(f"ALTER TABLE t{i} ADD v int" for i in range(21)))
    assert [len(m["tables"]) for m in said.ddl] == [1] * 21
    assert not any(m["before"] for m in said.ddl)


def test_statements_that_run_in_several_transactions(story: Story) -> None:
    """The server refuses some of them where anything was written before."""
    story.given(
        "CREATE TABLE t (id int PRIMARY KEY, v int)",
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
    )
    said = story.do(
        "CREATE UNIQUE INDEX CONCURRENTLY i ON t (v)",
        "REINDEX TABLE CONCURRENTLY t",
        "DROP INDEX CONCURRENTLY i",
        "ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY",
    )
    assert [m["tag"] for m in said.ddl] == ["CREATE INDEX", "DROP INDEX", "ALTER TABLE"]
    assert said.tables()["p1"].partition is None
