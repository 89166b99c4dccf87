"""AWS Glue changes an entry only from the version that was read, and removes none that somebody else has written to.

moto stands for it, with what Glue does and moto does not (tests/support/lakes/glue.py): it refuses a change of an entry
that has another version by now, archives no version where it is asked to, and answers page by page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.catalog.piecewise.catalogs import catalog_of
from airflow_ddlrepl.engines.lake.catalog.piecewise.glue import _Entries
from airflow_ddlrepl.engines.lake.catalog.piecewise.port import OneByOne
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.glue import REGION, GlueServer
from tests.support.lakes.interrupted import Killed, kill, suspended
from tests.support.lakes.metadata_file import code, metadata
from tests.support.lakes.store import REGION as OF_STORE
from tests.support.lakes.store import SECRET, Store, object_store
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS = TableName("port", "orders")
Made = tuple[str, dict[str, Any]]


def location(server: GlueServer, warehouse: str = "warehouse=/wh") -> str:
    settings = "&".join(f"{name}={value}" for name, value in server.settings().items())
    return f"iceberg:///state.db?catalog=glue&{warehouse}&{settings}"


@pytest.fixture
def catalog(glue: GlueServer) -> OneByOne:
    """A catalog without an entry."""
    client = glue.client()
    for name in [("port", one["Name"]) for one in entries(client)]:
        client.delete_table(DatabaseName=name[0], Name=name[1])
    place = location_of(location(glue))
    assert place.single is not None
    return catalog_of(place, place.single)


@pytest.fixture
def files(tmp_path: Path) -> list[Made]:
    """Three metadata files of one table, whose columns differ."""
    return [metadata(tmp_path, i, *of) for i, of in enumerate((("int", "timestamptz"), ("string",), ("int",)))]


def entries(client: Any, schema: str = "port") -> list[Any]:
    try:
        return [
            one
            for page in client.get_paginator("get_tables").paginate(DatabaseName=schema)
            for one in page["TableList"]
        ]
    except client.exceptions.EntityNotFoundException:
        return []


def entry(server: GlueServer) -> Any:
    return server.client().get_table(DatabaseName="port", Name="orders")["Table"]


def somebody(server: GlueServer, **changed: Any) -> Callable[[], None]:
    """Somebody else who writes to the entry of the orders, with no regard to its version."""

    def write() -> None:
        there = {key: entry(server)[key] for key in ("Name", "TableType", "Parameters", "StorageDescriptor")}
        parameters = {**there["Parameters"], **changed.pop("Parameters", {})}
        server.client().update_table(DatabaseName="port", TableInput={**there, **changed, "Parameters": parameters})

    return write


def test_an_entry_is_changed_only_from_what_it_was(glue: GlueServer, catalog: OneByOne, files: list[Made]) -> None:
    first, second, third = files
    assert catalog.of(ORDERS) is None
    catalog.add(ORDERS, *first)
    assert catalog.of(ORDERS) == first[0] and catalog.kinds()[ORDERS] == "table"
    assert code(lambda: catalog.add(ORDERS, *second)) == "ADP-104"
    catalog.swap(ORDERS, first[0], *second)
    assert catalog.of(ORDERS) == second[0]
    assert [one["Type"] for one in entry(glue)["StorageDescriptor"]["Columns"]] == ["string"]
    assert entry(glue)["Parameters"]["previous_metadata_location"] == first[0]
    assert code(lambda: catalog.swap(ORDERS, first[0], *third)) == "TGT-112" and catalog.of(ORDERS) == second[0]
    glue.before["update_table"] = somebody(glue, Parameters={"metadata_location": "theirs"})
    assert code(lambda: catalog.swap(ORDERS, second[0], *third)) == "TGT-112" and catalog.of(ORDERS) == "theirs"
    versions = glue.client().get_table_versions(DatabaseName="port", TableName="orders")["TableVersions"]
    assert len(versions) <= 2, "versions of ours are archived"
    assert code(lambda: catalog.drop(ORDERS, second[0])) == "TGT-112"
    catalog.drop(ORDERS, "theirs")
    assert catalog.of(ORDERS) is None and code(lambda: catalog.swap(ORDERS, second[0], *third)) == "TGT-112"
    assert code(lambda: catalog.drop(ORDERS, "theirs")) == "TGT-112"
    assert Path(second[0]).exists()


def test_what_others_say_of_an_entry_stays(glue: GlueServer, catalog: OneByOne, files: list[Made]) -> None:
    first, _, third = files
    catalog.add(ORDERS, *first)
    described = entry(glue)["StorageDescriptor"]
    columns = [{**one, "Comment": f"of {one['Name']}"} for one in described["Columns"]]
    of_them = {"Description": "all orders", "Owner": "sales", "Retention": 7}
    somebody(glue, **of_them, StorageDescriptor={**described, "Columns": columns}, Parameters={"classification": "x"})()
    catalog.swap(ORDERS, first[0], *third)
    found = entry(glue)
    assert {name: found[name] for name in of_them} == of_them and found["Parameters"]["classification"] == "x"
    assert [one.get("Comment") for one in found["StorageDescriptor"]["Columns"]] == ["of c1"]
    assert found["Parameters"]["table_type"] == "ICEBERG"


def test_columns_that_glue_does_not_take_are_not_shown(glue: GlueServer, catalog: OneByOne, files: list[Made]) -> None:
    path, made = files[0]
    made["schemas"][0]["fields"][0] |= {"name": "of two\nlines", "doc": "x"}
    made["schemas"][0]["fields"][1]["doc"] = "x" * 300
    catalog.add(ORDERS, path, made)
    assert [(one["Name"], one.get("Comment")) for one in entry(glue)["StorageDescriptor"]["Columns"]] == [("c2", None)]


def test_no_write_is_lost_when_an_entry_is_removed(
    glue: GlueServer, catalog: OneByOne, files: list[Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = files
    catalog.add(ORDERS, *first)
    glue.before["update_table"] = somebody(glue, Parameters={"metadata_location": second[0]})
    assert code(lambda: catalog.drop(ORDERS, first[0])) == "TGT-112" and catalog.of(ORDERS) == second[0]
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(_Entries, "remove", lambda it, name: kill())
        catalog.drop(ORDERS, second[0])
    from pyiceberg.exceptions import NoSuchIcebergTableError

    with pytest.raises(NoSuchIcebergTableError):  # so no writer of Iceberg's begins, and who has begun is refused
        glue.catalog().load_table(("port", "orders"))
    assert catalog.of(ORDERS) == second[0]
    assert code(lambda: catalog.swap(ORDERS, second[0], *first)) == "TGT-112"
    catalog.drop(ORDERS, second[0])
    assert catalog.of(ORDERS) is None
    catalog.add(ORDERS, *first)
    glue.before["update_table"] = somebody(glue, Description="changed, and no pointer")
    catalog.drop(ORDERS, first[0])
    assert catalog.of(ORDERS) is None


def test_an_answer_that_is_lost_hides_nothing_that_was_done(
    glue: GlueServer, catalog: OneByOne, files: list[Made]
) -> None:
    """boto3 sends the request again, which Glue refuses then; what there is tells that it was done."""
    first, second, _ = files
    glue.lost.add("create_table")
    assert code(lambda: catalog.add(ORDERS, *first)) == "ADP-104" and catalog.of(ORDERS) == first[0]
    glue.lost.add("update_table")
    assert code(lambda: catalog.swap(ORDERS, first[0], *second)) == "TGT-112" and catalog.of(ORDERS) == second[0]
    glue.lost |= {"update_table", "delete_table"}
    catalog.drop(ORDERS, second[0])
    assert catalog.of(ORDERS) is None and not glue.lost


def test_all_pages_are_read(glue: GlueServer, catalog: OneByOne, files: list[Made]) -> None:
    tables = [TableName(schema, f"t{i}") for schema in ("port", "port_2", "port_3") for i in range(3)]
    for name in tables:
        if catalog.of(name) is None:
            catalog.add(name, *files[0])
    view = {"Name": "shown", "TableType": "VIRTUAL_VIEW"}
    glue.client().create_table(DatabaseName="port", TableInput=view)
    kinds = catalog.kinds()
    assert kinds.keys() >= {*tables} and kinds[TableName("port", "shown")] == "view" and kinds[tables[-1]] == "table"
    assert code(lambda: catalog.of(TableName("port", "shown"))) == "ADP-104"


def test_what_is_in_the_way_is_told_by_the_table(
    glue: GlueServer, catalog: OneByOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (TableName("port", "Orders"), TableName("Port", "orders"), TableName("port", "or-ders")):
        with pytest.raises(DdlReplError, match="takes no such name of a table") as raised:
            catalog.of(name)
        assert (raised.value.code, raised.value.table) == ("ADP-110", str(name))
    there = location(glue, f"warehouse={tmp_path}/wh").replace("/state.db", f"{tmp_path}/state.db")
    assert "one after the other" in ENGINE.target_rights(there)[0]
    place = location_of(there)
    assert not any(SECRET in text for text in (repr(place), redact(there), place.catalog, str(place.files.properties)))

    def refuse() -> None:
        from moto.core.exceptions import JsonRESTError

        raise JsonRESTError("AccessDeniedException", f"{SECRET} may not, nor may https://me:pw@somewhere")

    glue.before["get_databases"] = refuse
    with pytest.raises(DdlReplError, match="may not") as raised:
        ENGINE.target_rights(there)
    assert (raised.value.code, raised.value.retryable) == ("CON-125", True)
    assert SECRET not in str(raised.value) and "pw" not in str(raised.value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(DdlReplError) as raised:
        ENGINE.target_rights(there.replace(glue.endpoint, "http://127.0.0.1:1"))
    assert raised.value.code == "CON-125" and SECRET not in str(raised.value)
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(DdlReplError, match=r"airflow-ddlrepl\[glue\]") as raised:
        catalog.of(ORDERS)
    assert raised.value.code == "CON-113"


@pytest.fixture
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


@pytest.mark.usefixtures("lake_spark")
def test_a_channel_runs_into_an_object_store(
    databases: Databases, tmp_path: Path, glue: GlueServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where answers of Glue are lost, and where a run is killed before an entry is removed that is retired."""
    warehouse = store.settings().replace(f"region={OF_STORE}", f"region={REGION}")
    own = f"glue_endpoint={glue.endpoint}"
    there = f"iceberg://{tmp_path}/state.db?catalog=glue&{own}&{warehouse}"
    drops = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, there, adapt_ddl=drops))
    replica.at_source(
        "create table orders (id int primary key, note text)",
        "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
        "create table log (what text, n int)",
        "alter table log replica identity full",
        "insert into log values ('twice', 1), ('twice', 1)",
        "create table gone (id int primary key)",
    )
    replica.activate()
    readers = glue.catalog()
    readers.properties |= location_of(there).files.properties

    def read(name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = readers.load_table(("public", name)).scan().to_arrow().to_pylist()
        return sorted(found, key=str)

    assert len(read("orders")) == 50 and len(read("log")) == 2
    replica.at_source(
        "begin; delete from orders where id = 3; alter table orders add column n int default 7;"
        " insert into orders values (60, 'late', 1); update orders set id = 104 where id = 4; commit",
        "delete from log where ctid = (select min(ctid) from log)",
        "alter table log rename to notes; drop table gone; create table new (id int primary key)",
        "insert into new values (1)",
    )
    glue.lost |= {"create_table", "update_table", "delete_table"}
    replica.replicate()
    assert not glue.lost and suspended(replica) == []
    replica.settle()
    found = {row["id"]: row for row in read("orders")}
    assert len(found) == 50 and not found.keys() & {3, 4} and found[1]["n"] == 7 and found[60]["note"] == "late"
    assert read("notes") == [{"what": "twice", "n": 1}] and read("new") == [{"id": 1}]
    assert {name for _, name in readers.list_tables("public")} == {"orders", "notes", "new"}
    for work in ("alter table notes rename to log", "drop table new"):
        replica.at_source(work)
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(_Entries, "remove", lambda it, name: kill())
            replica.replicate()
        assert len(entries(glue.client(), "public")) == len(readers.list_tables("public")) + 1
        replica.settle()
    assert {one["Name"] for one in entries(glue.client(), "public")} == {"orders", "log"} and len(read("log")) == 1
