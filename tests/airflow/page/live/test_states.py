"""Each channel's page tells the truth: healthy, waiting for a person, without its source, before its first run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.airflow.page.live.conftest import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("page")]


def told(world: World, channel: str) -> dict[str, Any]:
    answer = world.server.ask(f"/ddlrepl/api/channels/{channel}", "vic")
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


def test_a_healthy_channel_is_good(world: World) -> None:
    found = told(world, "shop")
    assert found["verdict"]["level"] == "good"
    assert [one["verdict"]["level"] for one in found["targets"]] == ["good"]
    assert found["waiting"] == []
    assert {row["target"] for row in found["history"]} == {"warehouse"}
    assert len(found["history"]) >= 6


def test_a_control_waits_for_a_person_with_what_removes_it(world: World) -> None:
    found = told(world, "shop-hr")
    assert found["verdict"]["level"] == "waiting"
    (one,) = found["waiting"]
    assert one["kind"] == "control"
    assert one["remedy"]["dag"] == "ddlrepl__shop-hr__controls"
    assert "controls remove" in one["remedy"]["command"]


def test_a_source_that_is_down_is_told(world: World) -> None:
    found = told(world, "crm")
    assert found["verdict"]["level"] == "bad"
    assert "source" in found["verdict"]["sentence"]


def test_a_channel_that_never_ran_is_told(world: World) -> None:
    found = told(world, "new")
    assert found["verdict"]["level"] == "unknown"
    assert "CFG-412" in found["verdict"]["reason"]
