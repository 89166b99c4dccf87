"""Custom functions that the tests' rules call."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from airflow_ddlrepl.streams.messages import RowLcr


def double(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={**lcr.new, "k": lcr.new["k"] * 2})


def twice(lcr: RowLcr) -> list[RowLcr]:
    return [lcr, replace(lcr, owner="copies", new={**lcr.new, "note": "a copy"})]


def nothing(_: RowLcr) -> list[RowLcr]:
    return []


def raises(_: RowLcr) -> RowLcr:
    raise ValueError("not today")


def hangs(lcr: RowLcr) -> RowLcr:
    time.sleep(60)
    return lcr


def garbage(_: RowLcr) -> Any:
    return 17


def elsewhere(lcr: RowLcr) -> RowLcr:
    return replace(lcr, scn=17)


def an_object(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={**lcr.new, "note": object()})


NO_FUNCTION = 1
