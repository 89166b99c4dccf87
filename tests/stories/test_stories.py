"""Every story, played on a real server: catalogs and rows are compared after every statement."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.stories.stage import Stage
from tests.stories.story import Story, meets, stories

_EMPTY = """
DO $$ DECLARE s text; BEGIN
    FOR s IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', s);
    END LOOP;
    CREATE SCHEMA public;
END $$
"""


@pytest.fixture(scope="module")
def pair(pg18: PrivateServer) -> Iterator[tuple[str, str]]:
    """Two databases for all stories; each story finds them empty."""
    names = ("stories_source", "stories_target")
    try:
        yield pg18.create_database(names[0]), pg18.create_database(names[1])
    finally:
        for name in names:
            pg18.drop_database(name)


def _marked(story: Story) -> object:
    return pytest.param(story, id=story.name, marks=[pytest.mark.req(*story.reqs)] if story.reqs else [])


@pytest.mark.parametrize("story", [_marked(s) for s in stories()])
def test_story(story: Story, pair: tuple[str, str]) -> None:
    with psycopg.connect(pair[0], autocommit=True) as source, psycopg.connect(pair[1], autocommit=True) as target:
        source.execute(_EMPTY)
        target.execute(_EMPTY)
        stage = Stage(source, target, story)
        stage.play()
        for line in story.holds:
            query, _, row = line.partition(" => ")
            assert target.execute(f"SELECT ROW(x.*)::text FROM ({query}) x".encode()).fetchall() == [(row,)]
    found = "\n".join([f"-- {story.name} spots --", *stage.spotted, "-- postgres --", *stage.said])
    assert meets(story.spots, stage.spotted), found
    assert meets(story.postgres, stage.said), found
