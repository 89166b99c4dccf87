"""What a newer version of the product has written, an older one refuses: at the target, the source and in the trail."""

from __future__ import annotations

import json

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.support.refusing import edit
from tests.support.replica import BOTH, Make, Replica, run

pytestmark = BOTH

TABLE = ("create table t (id int primary key, v text)", "insert into t values (1, 'a')")


def refused(replica: Replica, code: str) -> None:
    replica.at_source("insert into t select max(id) + 1, 'more' from t")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert caught.value.code == code and "newer version" in caught.value.message


def test_tables_of_ours_at_a_target(make: Make) -> None:
    replica = make(*TABLE)
    replica.settle()
    assert replica.rows("select version from ddlrepl.position") == [(1,)]
    run(replica.target, "update ddlrepl.position set version = 2")
    refused(replica, "TGT-108")
    assert replica.rows("select count(*) from t") == [(1,)]
    run(replica.target, "update ddlrepl.position set version = 1")
    replica.settle()


def test_a_target_that_an_earlier_version_has_prepared(make: Make) -> None:
    replica = make(*TABLE)
    run(replica.target, "alter table ddlrepl.position drop column version, drop column mark, drop column owners")
    replica.at_source("insert into t values (2, 'more')")
    replica.settle()
    assert replica.rows("select version, mark is not null from ddlrepl.position") == [(1, True)]


def test_the_helper_schema(make: Make) -> None:
    replica = make(*TABLE)
    run(replica.source, "comment on schema ddlrepl is 'airflow-ddlrepl helper v99 0123456789ab'")
    refused(replica, "SRC-132")
    with pytest.raises(DdlReplError, match="SRC-132"):
        replica.activate()


def test_the_trail(make: Make) -> None:
    replica = make(*TABLE)
    replica.settle()
    marker = replica.file.parent / "trail" / "shop" / "trail.json"
    marker.write_text(json.dumps({"format": 2, "channel": "shop"}))
    refused(replica, "TRL-115")


def test_a_renamed_target_is_told_as_such(make: Make) -> None:
    replica = make(*TABLE)
    replica.settle()
    edit(replica.file, "name: warehouse", "name: store")
    replica.at_source("insert into t values (2, 'more')")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert caught.value.code == "TGT-103" and "another name in the channel file" in caught.value.message
    edit(replica.file, "name: store", "name: warehouse")
    replica.settle()
