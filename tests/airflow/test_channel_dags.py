"""A channel file is a DAG, by the bundle and by the two-line file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.bundles import ChannelDagBundle
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags import build
from airflow_ddlrepl.errors import ConfigError

KINDS = ("compare", "cutover", "enroll", "plan", "refresh", "replicate")
"""The DAGs that every channel has."""

CHANNEL = """
channel: {name}
source:
  location: postgresql://app:s3cret@localhost/shop
  tables: ["public.*"]
targets:
  - name: warehouse
    location: warehouse_db
{more}
"""


def write_channel(folder: Path, name: str = "shop", more: str = "", file: str = "") -> Path:
    path = folder / (file or f"{name}.yaml")
    path.write_text(CHANNEL.format(name=name, more=more))
    return path


def test_stages_in_order_and_nothing_at_the_same_time(tmp_path: Path) -> None:
    dag = build_channel_dags(write_channel(tmp_path))["ddlrepl__shop__replicate"]
    order = [task.task_id for task in dag.topological_sort()]
    assert order == ["capture", "adapt", "refresh", "integrate", "end"]
    assert [dag.get_task(name).downstream_task_ids for name in order] == [set(order[n + 1 :]) for n in range(5)]
    assert (dag.max_active_runs, dag.catchup, dag.is_paused_upon_creation) == (1, False, True)


def test_a_channel_with_a_lake_has_a_dag_that_maintains_it_every_night(tmp_path: Path) -> None:
    lake = '  - name: lake\n    location: "iceberg:///data/lake/catalog.db"'
    built = build_channel_dags(write_channel(tmp_path, more=lake))
    dag = built["ddlrepl__shop__maintain"]
    assert dag.timetable.expression == "0 3 * * *" and dag.max_active_runs == 1
    defaults = {"tables": None, "retain": "5d", "small_files": "5", "deleted_percent": "10"}
    assert dag.params.dump() == defaults
    operator = dag.get_task("maintain")
    assert (operator.app, operator.always_runs, operator.takes_turns, operator.is_live) == (
        "maintain",
        True,
        True,
        False,
    )
    operator.tables, operator.retain, operator.small_files, operator.deleted_percent = "a.b", "2d", "5", "10"
    assert operator.arguments() == ["--table=a.b", "--retain=2d"]


def test_by_hand_unless_the_channel_has_a_schedule(tmp_path: Path) -> None:
    by_hand = build_channel_dags(write_channel(tmp_path))["ddlrepl__shop__replicate"]
    assert not by_hand.timetable.can_be_scheduled
    hourly = build_channel_dags(write_channel(tmp_path, "hourly", 'schedule: "@hourly"'))
    timetable = hourly["ddlrepl__hourly__replicate"].timetable
    assert type(timetable).__name__ == "CronTriggerTimetable"
    assert timetable.expression == "0 * * * *"


def test_documentation_shows_no_password(tmp_path: Path) -> None:
    dag = build_channel_dags(write_channel(tmp_path))["ddlrepl__shop__replicate"]
    assert "app:***@localhost/shop" in dag.doc_md
    assert "s3cret" not in dag.doc_md


def test_a_folder_gives_a_dag_per_file(tmp_path: Path) -> None:
    write_channel(tmp_path, "one")
    write_channel(tmp_path, "two", file="two.yml")
    (tmp_path / "notes.txt").write_text("no channel")
    assert sorted(build_channel_dags(tmp_path)) == [
        f"ddlrepl__{name}__{kind}" for name in ("one", "two") for kind in KINDS
    ]


def test_a_task_reads_the_file_of_its_own_channel_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow says which DAG's task it runs; other channels' files would be read for nothing, each time."""
    for name in ("one", "two", "three"):
        write_channel(tmp_path, name)
    read: list[str] = []

    def load(file: Path) -> Channel:
        read.append(file.stem)
        return load_channel(file)

    monkeypatch.setattr(build, "load_channel", load)
    for dag_id, files in (("ddlrepl__two__enroll", ["two"]), ("another", ["one", "three", "two"]), ("", read[:0])):
        monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", dag_id)
        read.clear()
        assert dag_id in build_channel_dags(tmp_path) or not dag_id.startswith("ddlrepl")
        assert read == (files or ["one", "three", "two"])


def test_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    write_channel(tmp_path, file="a.yaml")
    write_channel(tmp_path, file="b.yaml")
    with pytest.raises(ConfigError, match=r"CFG-403: .*a\.yaml and .*b\.yaml describe the same channel shop"):
        build_channel_dags(tmp_path)


def test_default_arguments_reach_the_tasks(tmp_path: Path) -> None:
    dag = build_channel_dags(write_channel(tmp_path), retries=7, pool="replication")["ddlrepl__shop__replicate"]
    assert {(task.retries, task.pool) for task in dag.tasks} == {(7, "replication")}


def test_a_pool_for_each_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all of its DAGs; what is said where they are built wins."""
    monkeypatch.setenv("AIRFLOW__DDLREPL__POOL", "one__{channel}")
    file = write_channel(tmp_path, more=REPLAYS)
    dags = build_channel_dags(file).values()
    assert len(dags) == len(KINDS) + 1
    assert {task.pool for dag in dags for task in dag.tasks} == {"one__shop"}
    assert {task.pool for dag in build_channel_dags(file, pool="mine").values() for task in dag.tasks} == {"mine"}
    monkeypatch.delenv("AIRFLOW__DDLREPL__POOL")
    assert {task.pool for dag in build_channel_dags(file).values() for task in dag.tasks} == {"default_pool"}


def test_bundle_builds_the_configured_channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_channel(tmp_path)
    monkeypatch.setenv("AIRFLOW__DDLREPL__CHANNELS", str(tmp_path))
    bag = DagBag(ChannelDagBundle(name="ddlrepl").path, bundle_path=ChannelDagBundle(name="ddlrepl").path)
    assert bag.import_errors == {}
    assert sorted(bag.dags) == [f"ddlrepl__shop__{kind}" for kind in KINDS]


def test_a_broken_channel_file_shows_as_import_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_channel(tmp_path, more="sorce: 1")
    monkeypatch.setenv("AIRFLOW__DDLREPL__CHANNELS", str(tmp_path))
    bag = DagBag(ChannelDagBundle(name="ddlrepl").path, bundle_path=ChannelDagBundle(name="ddlrepl").path)
    (told,) = bag.import_errors.values()
    assert "shop.yaml:9" in told
    assert "did you mean source?" in told


@pytest.mark.parametrize("wrong", ["sorce: 1", 'schedule: "99 99 * * *"'])
def test_a_broken_channel_file_stops_no_other_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """Airflow schedules nothing from a file that raises."""
    for name in ("a", "c"):
        write_channel(tmp_path, name)
    write_channel(tmp_path, "b", wrong)
    monkeypatch.setenv("AIRFLOW__DDLREPL__CHANNELS", str(tmp_path))
    bag = DagBag(ChannelDagBundle(name="ddlrepl").path, bundle_path=ChannelDagBundle(name="ddlrepl").path)
    assert sorted(bag.dags) == [f"ddlrepl__{name}__{kind}" for name in "ac" for kind in KINDS]
    ((place, told),) = bag.import_errors.items()
    assert place.endswith("refused.py")
    assert "b.yaml" in told and wrong[:5] in told


def test_of_two_files_with_one_name_neither_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("a.yaml", "b.yaml"):
        write_channel(tmp_path, file=file)
    write_channel(tmp_path, "other")
    monkeypatch.setenv("AIRFLOW__DDLREPL__CHANNELS", str(tmp_path))
    bag = DagBag(ChannelDagBundle(name="ddlrepl").path, bundle_path=ChannelDagBundle(name="ddlrepl").path)
    assert sorted(bag.dags) == [f"ddlrepl__other__{kind}" for kind in KINDS]
    assert "CFG-403" in next(iter(bag.import_errors.values()))


def test_airflow_takes_the_bundle_from_its_configuration(airflow_database: None) -> None:
    names = [bundle.name for bundle in DagBundlesManager().get_all_dag_bundles()]
    assert names == ["ddlrepl"]


def test_two_line_file(tmp_path: Path) -> None:
    channel = write_channel(tmp_path)
    (tmp_path / "shop_dag.py").write_text(
        "from airflow_ddlrepl import build_channel_dags\n"
        f"globals().update(build_channel_dags({str(channel)!r}))  # an Airflow DAG\n"
    )
    bag = DagBag(tmp_path, bundle_path=tmp_path)
    assert bag.import_errors == {}
    assert sorted(bag.dags) == [f"ddlrepl__shop__{kind}" for kind in KINDS]


def two_line_file(folder: Path, channels: Path, function: str = "build_channel_dags") -> DagBag:
    """What Airflow finds in a DAGs folder with README's file."""
    folder.mkdir(exist_ok=True)
    call = f"{function}({str(channels)!r})"
    call = f"globals().update({call})" if function == "build_channel_dags" else call
    (folder / f"{function}.py").write_text(f"from airflow_ddlrepl import {function}\n{call}\n")
    return DagBag(folder, bundle_path=folder)


def test_a_typo_in_one_channel_file_stops_no_other_channel_of_the_two_line_file(tmp_path: Path) -> None:
    """Airflow drops all DAGs of a file that raises: the error must be seen without an exception."""
    for name, more in (("a", ""), ("b", "sorce: 1"), ("c", "")):
        write_channel(tmp_path, name, more)
    bag = two_line_file(tmp_path / "dags", tmp_path)
    assert bag.import_errors == {}
    good = [f"ddlrepl__{name}__{kind}" for name in "ac" for kind in KINDS]
    assert sorted(bag.dags) == sorted([*good, "ddlrepl__b.yaml__unusable"])
    dag = bag.dags["ddlrepl__b.yaml__unusable"]
    assert dag.dag_display_name == "b.yaml can't be used"
    assert "b.yaml:9: unknown key sorce" in dag.description and "b.yaml:9: unknown key sorce" in dag.doc_md
    assert dag.is_paused_upon_creation and "unusable channel file" in dag.tags
    with pytest.raises(AirflowFailException, match=r"b.yaml:9: unknown key sorce"):
        dag.get_task("report").execute({})


def test_a_file_of_its_own_makes_an_import_error_of_a_typo(tmp_path: Path) -> None:
    write_channel(tmp_path, "a")
    assert two_line_file(tmp_path / "good", tmp_path, "check_channel_dags").import_errors == {}
    write_channel(tmp_path, "b", "sorce: 1")
    ((place, error),) = two_line_file(tmp_path / "bad", tmp_path, "check_channel_dags").import_errors.items()
    assert place.endswith("check_channel_dags.py") and "b.yaml:9: unknown key sorce" in error


def test_where_no_channel_file_can_be_used_the_two_line_file_is_an_import_error(tmp_path: Path) -> None:
    for name in "ab":
        write_channel(tmp_path, name, "sorce: 1")
    bag = two_line_file(tmp_path / "dags", tmp_path)
    (error,) = bag.import_errors.values()
    assert "CFG-404: 2 channel files can't be used" in error and "a.yaml:9" in error and "b.yaml:9" in error
    assert not bag.dags


REPLAYS = (
    "rewind_horizon: {age: 7d}\nreplays:\n  - {name: past, location: past_db}\n  - {name: older, location: older_db}"
)


def test_a_backfill_has_a_dag_of_its_own(tmp_path: Path) -> None:
    """The cycle has no task for it and refuses backfills; without a place for the past, or intervals, there is none."""
    dags = build_channel_dags(write_channel(tmp_path, more=REPLAYS + '\nschedule: "@hourly"'))
    dag, cycle = dags["ddlrepl__shop__replay"], dags["ddlrepl__shop__replicate"]
    (replay,) = dag.tasks
    assert (replay.task_id, replay.max_active_tis_per_dag, dag.max_active_runs) == ("replay", 1, 1)
    assert dag.params["into"] == "past" and dag.params["tables"] is None
    assert "params.into" in replay.into and "params.tables" in replay.tables
    assert "backfills go to ddlrepl__shop__replay" in cycle.description and "ddlrepl__shop__replay" in cycle.doc_md
    assert {str(kind.value) for kind in dag.allowed_run_types} == {"backfill", "scheduled"}
    assert not cycle.has_task("replay")
    assert "backfill" not in {str(kind.value) for kind in cycle.allowed_run_types}
    assert "ddlrepl__shop__replay" not in build_channel_dags(write_channel(tmp_path, more=REPLAYS))
    assert "ddlrepl__shop__replay" not in build_channel_dags(write_channel(tmp_path, more='schedule: "@hourly"'))


def test_a_channel_is_enrolled_by_hand(tmp_path: Path) -> None:
    """As `ddlrepl activate` without options, unless the run says otherwise."""
    dag = build_channel_dags(write_channel(tmp_path))["ddlrepl__shop__enroll"]
    (task,) = dag.tasks
    assert not dag.timetable.can_be_scheduled
    assert {name: dag.params[name] for name in dag.params} == {
        "enrollment": "keep", "start_moment": "now", "refresh": True, "trail": "keep",
        "accept": "nothing",
    }  # fmt: skip
    assert dag.params.get_param("enrollment").schema["enum"] == ["keep", "regenerate", "only"]
    told = {"params": dict(dag.params)}
    task.render_template_fields(told)
    assert task.arguments() == []
    other = build_channel_dags(write_channel(tmp_path))["ddlrepl__shop__enroll"].tasks[0]
    other.render_template_fields(
        {
            "params": {
                **{"enrollment": "only", "start_moment": "0/1A", "refresh": False, "trail": "new"},
                "accept": "source",
            }
        }
    )
    arguments = ["--enrollment=only", "--start-moment=0/1A", "--trail=new", "--accept=source", "--no-refresh"]
    assert other.arguments() == arguments
    other.refresh = "perhaps"
    with pytest.raises(ConfigError, match="CFG-135: refresh is 'perhaps'"):
        other.arguments()


def test_a_rewind_is_planned_approved_and_done(tmp_path: Path) -> None:
    """Nobody answers: it is not done."""
    dag = build_channel_dags(write_channel(tmp_path, more=REPLAYS))["ddlrepl__shop__rewind"]
    order = [task.task_id for task in dag.topological_sort()]
    assert order == ["plan", "approve", "rewind"]
    assert [sorted(dag.get_task(name).downstream_task_ids) for name in order] == [["approve"], ["rewind"], []]
    approve = dag.get_task("approve")
    assert (approve.defaults, approve.response_timeout) == (["Reject"], timedelta(days=1))
    assert dag.params.get_param("into").schema["enum"] == ["past", "older", "warehouse"]
    assert not dag.timetable.can_be_scheduled
    assert "ddlrepl__shop__rewind" not in build_channel_dags(write_channel(tmp_path))


def test_a_field_that_may_stay_empty_is_no_required_one(tmp_path: Path) -> None:
    """Airflow's form requires a value of every plain string; nothing, and an empty text, mean all tables."""
    for tables, patterns in (
        (None, []),
        ("", []),
        ("public.a\npublic.b", ["--table=public.a", "--table=public.b"]),
    ):
        dag = build_channel_dags(write_channel(tmp_path, more=REPLAYS))["ddlrepl__shop__rewind"]
        assert "null" in dag.params.get_param("tables").schema["type"]
        rewind = dag.get_task("rewind")
        rewind.render_template_fields({"params": {"to": "0/1", "into": "past", "tables": tables}})
        assert rewind.arguments() == ["--to=0/1", "--into=past", *patterns]


def test_the_dags_of_a_channel_stand_together_and_its_replication_comes_first(tmp_path: Path) -> None:
    """Airflow's list is in the order of display names; a tag leaves those that a person needs every day."""
    dags = build_channel_dags(write_channel(tmp_path, more=REPLAYS + '\nschedule: "@hourly"')).values()
    names = sorted(dag.dag_display_name for dag in dags)
    assert names[0] == "shop (replication)" and all(name.startswith("shop: ") for name in names[1:])
    assert all({"ddlrepl", "shop"} < set(dag.tags) and dag.description for dag in dags)
    assert [dag.dag_id for dag in dags if "every day" in dag.tags] == ["ddlrepl__shop__replicate"]
    assert len({dag.description for dag in dags}) == len(names)


def test_no_link_is_an_xcom_without_a_name(tmp_path: Path) -> None:
    keys = {
        link.xcom_key
        for dag in build_channel_dags(write_channel(tmp_path)).values()
        for task in dag.tasks
        for link in task.operator_extra_links
    }
    assert {"link: Channel status", "link: DDL history", "link: Executed SQL"} <= keys
    assert {key for key in keys if not key.startswith("link: ")} <= {"_link_HITLReviewLink", "_link_TriggerDagRunLink"}
