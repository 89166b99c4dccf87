"""Every story, played on a real server by the flow: rows are compared after every statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines import reusing_sessions
from tests.stories.stage import Stage
from tests.stories.story import Story, meets, stories
from tests.support.replica import Replica, channel_file


def _marked(story: Story) -> object:
    return pytest.param(story, id=story.name, marks=[pytest.mark.req(*story.reqs)] if story.reqs else [])


def _channel(story: Story) -> dict[str, Any]:
    """What a story's policy says in a channel file."""
    policy = dict(story.policy)
    defaults = {"defaults": policy.pop("defaults")} if "defaults" in policy else {}
    return {**defaults, "adapt_ddl": [{"add_table_pattern": "*", **policy}]}


@pytest.mark.parametrize("story", [_marked(s) for s in stories()])
def test_story(story: Story, databases: Any, tmp_path: Path) -> None:
    file = channel_file(tmp_path, databases.source, databases.target, **_channel(story))
    stage = Stage(Replica(databases.source, databases.target, file), story)
    with reusing_sessions():
        stage.play()
    for line in story.holds:
        query, _, row = line.partition(" => ")
        assert stage.replica.rows(f"SELECT ROW(x.*)::text FROM ({query}) x") == [(row,)]
    found = "\n".join([f"-- {story.name} spots --", *stage.spotted, "-- postgres --", *stage.said])
    assert meets(story.spots, stage.spotted), found
    assert meets(story.postgres, stage.said), found
