"""Plays a story: a source and a target on a real server, brought along plan by plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg

from airflow_ddlrepl.adapt.plan.context import PlanContext
from airflow_ddlrepl.adapt.plan.new_table import reshape
from airflow_ddlrepl.adapt.plan.plan import plan
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import Policy, policy_for
from airflow_ddlrepl.adapt.shape.match_existing import differences
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.ddl.sql.statement import Evidence, has_using, known_conversions
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl, create_table, create_types
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from tests.stories.story import Story
from tests.support.shape_order import in_order


@dataclass
class Stage:
    """source, target: connections in autocommit. shapes: what each target table stands at, by source id."""

    source: psycopg.Connection[Any]
    target: psycopg.Connection[Any]
    story: Story
    shapes: dict[int, Table] = field(default_factory=dict)
    kept: set[TableName] = field(default_factory=set)
    spotted: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    plans: list[TablePlan] = field(default_factory=list)

    def play(self) -> None:
        self.source.execute(self.story.old)
        tables = inspect(self.source)
        for _, table in in_order([], tables):
            assert table is not None
            made = self._plan(None, table, Evidence(filled=False), None)
            self._run([s for s in made.steps if s.sql])
            self._copy(table)
            self.shapes[table.id] = made.shape or table
        for statement in self.story.do:
            self._do(statement)

    def _do(self, statement: str) -> None:
        before, files = inspect(self.source), self._files()
        self.source.execute(statement)
        after, now = inspect(self.source), self._files()
        zone = self.source.execute("show timezone").fetchone()
        ran: set[Step] = set()
        for old, new in in_order(before, after):
            evidence = Evidence(
                has_using=has_using(None, statement),
                rewritten=bool(old and new and files.get(old.id) != now.get(new.id)),
                filled=self._has_rows(new) if old is None and new else None,
                timezone=zone[0] if zone else None,
                statement=statement,
                conversions=known_conversions(None, statement),
            )
            self._follow(old, new, evidence, ran)
        if statement.split()[0].lower() == "insert":
            self._integrate(after)
        if self.story.same != "refused":
            self._check_all(after)

    def _integrate(self, tables: list[Table]) -> None:
        """What integrate does, in short."""
        for table in tables:
            at, names = qualified(table.name), ", ".join(quote(c.name) for c in table.columns if not c.generated)
            with self.target.transaction():
                self.target.execute(f"CREATE TEMP TABLE old_rows ON COMMIT DROP AS SELECT * FROM {at}".encode())
                self.target.execute(f"TRUNCATE {at}".encode())
                self._copy(table)
                self.target.execute(f"CREATE TEMP TABLE new_rows ON COMMIT DROP AS SELECT {names} FROM {at}".encode())
                if table.key is not None:
                    self.target.execute(f"TRUNCATE {at}".encode())
                    self.target.execute(f"INSERT INTO {at} OVERRIDING SYSTEM VALUE SELECT * FROM old_rows".encode())
                    new = f"INSERT INTO {at} ({names}) SELECT {names} FROM new_rows ON CONFLICT DO NOTHING"
                    self.target.execute(new.encode())

    def _follow(self, old: Table | None, new: Table | None, evidence: Evidence, ran: set[Step]) -> None:
        if old is not None and old == new:
            return
        made = self._plan(self.shapes.get(old.id) if old else None, new, evidence, old)
        self.plans.append(made)
        self.spotted += made.changes
        steps = [s for s in made.steps if not (s.shared and s in ran)]
        ran |= set(steps)
        self.said += [line for s in steps for line in _said(s)]
        if any(s.kind is StepKind.REFUSE for s in steps):
            return
        self._run(steps)
        if new is None:
            assert old is not None
            shape = self.shapes.pop(old.id)
            if made.is_orphaned:
                self.kept.add(shape.name)
        elif made.shape is not None:
            self.shapes[new.id] = made.shape
            if made.needs_refresh:
                self._refresh(new, made.shape)

    def _plan(self, shape: Table | None, new: Table | None, evidence: Evidence, old: Table | None) -> TablePlan:
        at = shape.name if shape else new.name if new else None
        assert at is not None
        moves = shape is not None and new is not None and shape.name != new.name
        extensions = self.target.execute("select array_agg(extname::text) from pg_extension").fetchone()
        facts = TargetFacts(
            POSTGRES_TYPES,
            extensions=frozenset(extensions[0] if extensions else ()),
            existing=self._standing(at),
            occupant=self._standing(new.name) if moves and new else None,
            is_orphaned=new is not None and new.name in self.kept,
            server_version=self.target.info.server_version // 10000,
        )
        render = PostgresDdl(facts.server_version)
        return plan(
            shape,
            new,
            render=render,
            evidence=evidence,
            policy=self._policy(at),
            facts=facts,
            context=PlanContext(source_before=old),
        )

    def _policy(self, name: TableName) -> Policy:
        said = dict(self.story.policy)
        defaults = Defaults(said.pop("defaults", "own"))
        action = AdaptAction(**said)
        return policy_for(name, [action], [action], defaults)

    def _run(self, steps: list[Step]) -> None:
        for step in (s for s in steps if s.own_transaction):
            for statement in step.sql:
                self.target.execute(statement.encode())
        with self.target.transaction():
            for step in (s for s in steps if not s.own_transaction):
                for statement in step.sql:
                    self.target.execute(statement.encode())

    def _refresh(self, new: Table, wanted: Table) -> None:
        """What a refresh does, in short: the contents exchanged, the table kept."""
        existing = self._standing(wanted.name)
        with self.target.transaction():
            statements = create_types(wanted.types)
            statements += reshape(existing, wanted, PostgresDdl(), POSTGRES_TYPES) if existing else create_table(wanted)
            for statement in statements:
                self.target.execute(statement.encode())
        self._copy(new)

    def _copy(self, table: Table) -> None:
        if table.is_partitioned:
            return
        names = ", ".join(quote(c.name) for c in table.columns if not c.generated)
        if not names:
            return
        at = qualified(table.name)
        with (
            self.source.cursor().copy(f"COPY (SELECT {names} FROM ONLY {at}) TO STDOUT".encode()) as reading,
            self.target.cursor().copy(f"COPY {at} ({names}) FROM STDIN".encode()) as writing,
        ):
            for data in reading:
                writing.write(data)

    def _check_all(self, tables: list[Table]) -> None:
        """The target's catalog is what the plans said, its rows are the source's, and nothing is left to do."""
        for table in tables:
            wanted = self.shapes[table.id]
            existing = self._standing(wanted.name)
            assert existing is not None, f"{wanted.name} is missing at the target"
            assert differences(existing, wanted, POSTGRES_TYPES) == ()
            again = self._plan(wanted, table, Evidence(), table)
            assert not again.changes_anything, again
            if self.story.same == "rows":
                assert self._rows(self.source, table) == self._rows(self.target, table)

    def _rows(self, connection: psycopg.Connection[Any], table: Table) -> list[str]:
        names = ", ".join(f"{quote(c.name)}::text" for c in table.columns)
        with connection.transaction():
            connection.execute("SET LOCAL TimeZone = 'UTC'")
            rows = connection.execute(f"SELECT ROW({names})::text FROM {qualified(table.name)} ORDER BY 1".encode())
            return [row[0] for row in rows]

    def _standing(self, name: TableName) -> Table | None:
        return next((t for t in inspect(self.target) if t.name == name), None)

    def _files(self) -> dict[int, int]:
        rows = self.source.execute(
            "select oid::int8, pg_relation_filenode(oid)::int8 from pg_class where relkind = 'r'"
        )
        return dict(rows.fetchall())

    def _has_rows(self, table: Table) -> bool:
        row = self.source.execute(f"SELECT EXISTS (SELECT FROM {qualified(table.name)})".encode()).fetchone()
        return bool(row and row[0])


def _said(step: Step) -> list[str]:
    if step.kind is not StepKind.SQL:
        return [f"{step.kind} {step.code}".strip()]
    own = "(own) " if step.own_transaction else ""
    return [own + statement for statement in step.sql]
