"""Every story, played on a real server: catalogs and rows are compared after every statement."""

from __future__ import annotations

import psycopg
import pytest

from tests.stories.stage import Stage
from tests.stories.story import Story, meets, stories


def _marked(story: Story) -> object:
    return pytest.param(story, id=story.name, marks=[pytest.mark.req(*story.reqs)] if story.reqs else [])


@pytest.mark.parametrize("story", [_marked(s) for s in stories()])
def test_story(story: Story, databases) -> None:
    with (
        psycopg.connect(databases.source, autocommit=True) as source,
        psycopg.connect(databases.target, autocommit=True) as target,
    ):
        stage = Stage(source, target, story)
        stage.play()
        for line in story.holds:
            query, _, row = line.partition(" => ")
            assert target.execute(f"SELECT ROW(x.*)::text FROM ({query}) x".encode()).fetchall() == [(row,)]
    found = "\n".join([f"-- {story.name} spots --", *stage.spotted, "-- postgres --", *stage.said])
    assert meets(story.spots, stage.spotted), found
    assert meets(story.postgres, stage.said), found
