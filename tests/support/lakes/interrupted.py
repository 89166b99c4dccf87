"""Runs into a catalog that changes one table at a time that are killed or stopped, and others who write meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.catalog import publishing
from airflow_ddlrepl.engines.lake.catalog.piecewise import publish
from airflow_ddlrepl.engines.lake.catalog.piecewise.publish import Piecewise
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.support.lakes.single import Single
from tests.support.replica import Replica

SHOP = (
    "create table orders (id int primary key, amount int)",
    "insert into orders select i, 0 from generate_series(1, 20) i",
    "create table sums (id int primary key, total int)",
    "insert into sums values (1, 0)",
    "create table log (what text)",
    "alter table log replica identity full",
    "insert into log values ('twice'), ('twice')",
)
WORK = (
    "begin; update orders set amount = amount + 1 where id < 11; update sums set total = total + 10;"
    " insert into log values ('more'), ('more'); insert into orders select max(id) + 1, 0 from orders; commit"
)


class Killed(BaseException):
    """What ends a run where it stands: nothing of it is done any more."""


def kill() -> None:
    """End the run."""
    raise Killed


class Stopping:
    """A fail point at which something is done once. left: how often it is passed before."""

    def __init__(self, point: str, left: int = 0, do: Callable[[], object] = kill) -> None:
        self.point, self.left, self.do = point, left, do

    def __call__(self, point: str) -> None:
        if point == self.point:
            self.left -= 1
            if self.left == -1:
                self.do()

    @property
    def is_done(self) -> bool:
        """Has the run come to the fail point?"""
        return self.left < 0


def stopping(monkeypatch: pytest.MonkeyPatch, stop: Stopping) -> None:
    """Have publications pass this fail point."""
    monkeypatch.setattr(publishing, "reach", stop)
    monkeypatch.setattr(publish, "reach", stop)


def killed(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch, point: str, after: int = 0) -> None:
    """A run that ends where it passes a fail point."""
    with monkeypatch.context() as patched, pytest.raises(Killed):
        stopping(patched, Stopping(point, after))
        run()


class Meanwhile:
    """Somebody who does something once, just before a table is changed."""

    def __init__(self, single: Single, monkeypatch: pytest.MonkeyPatch) -> None:
        self.single, self.plan = single, dict[TableName, str]()
        taken = Piecewise._is_taken
        monkeypatch.setattr(
            Piecewise, "_is_taken", lambda it, step, all_of: self._after(step, lambda: taken(it, step, all_of))
        )

    def _after(self, step: Any, do: Callable[[], bool]) -> bool:
        if (text := self.plan.pop(step.origin, "")) != "":
            self.single.somebody().sql(text)
        return do()


def suspended(replica: Replica) -> list[str]:
    """The tables that the status says to be suspended."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle).to_json()
    return [one["table"] for one in found["targets"]["warehouse"]["tables"] if one["state"] == "suspended"]
