"""What a person types into the form of a DAG run, or sends as its conf, is a value: no template, no option, no path."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.operators.base import DdlReplSparkOperator

CHANNEL = """
channel: shop
schedule: "@daily"
source: {location: shop_db, tables: ["public.*"]}
targets: [{name: warehouse, location: warehouse_db}]
replays: [{name: past, location: past_db}]
rewind_horizon: {age: 7d}
adapt_ddl: [{add_table_pattern: "*", on_enroll_break: FAIL_INTEG_JOB}]
"""
HOSTILE = (
    "{{ var.value.secret }}",
    "{{ conn.shop_db.password }}",
    "{% for x in [].__class__.__mro__ %}{{ x }}{% endfor %}",
    "--result=/etc/passwd.x",
    "--channel=/tmp/other.yaml",
    "public.t --repair",
    "public.t'; DROP TABLE t; --",
    "../../etc/passwd",
    "`[x](javascript:alert(1))`",
)


@pytest.fixture
def dags(tmp_path: Path) -> dict[str, DAG]:
    file = tmp_path / "shop.yaml"
    file.write_text(CHANNEL)
    return build_channel_dags(file)


def fields(dag: DAG) -> list[str]:
    """The fields of a DAG's form that take any text."""
    schemas = {name: dag.params.get_param(name).schema for name in dag.params}
    return [name for name, schema in schemas.items() if "string" in schema.get("type", ()) and "enum" not in schema]


def rendered(dags: dict[str, DAG], value: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each task of each DAG with a form, and with a conf, that says this everywhere."""
    for dag in dags.values():
        chosen = {name: dag.params.get_param(name).value for name in dag.params if name not in fields(dag)}
        params = chosen | dict.fromkeys(fields(dag), value)
        run = SimpleNamespace(conf={"into": value, "channel": value, "application": value})
        for task in dag.tasks:
            if not type(task).__module__.startswith("airflow_ddlrepl") or task.task_id == "approve":
                continue
            before = {name: getattr(task, name, None) for name in task.template_fields}
            task.render_template_fields(
                {"params": params, "dag_run": run, "ti": SimpleNamespace(xcom_pull=lambda **_: "")}
            )
            yield task, before


@pytest.mark.parametrize("value", HOSTILE)
def test_nothing_typed_is_a_template_or_an_option_of_an_app(dags: dict[str, DAG], value: str) -> None:
    looked = 0
    for task, before in rendered(dags, value):
        for name in task.template_fields:
            now = getattr(task, name, None)
            if isinstance(now, str) and now != before[name]:
                chosen = {"True", "False", "keep", "past", "fail", "nothing", ""}
                assert value in now or now in chosen, f"{task.task_id}.{name} has evaluated what was typed: {now!r}"
                looked += 1
        if isinstance(task, DdlReplSparkOperator):
            assert task.channel == before["channel"] and task.application == before["application"]
            try:
                arguments = task.arguments()
            except DdlReplError:
                continue  # no table is called this
            check_arguments(arguments)
    assert looked > 3


def check_arguments(arguments: list[str]) -> None:
    """An app reads what was typed as the value of one of its options."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--table", "--to", "--into", "--options", "--enrollment", "--start-moment", "--trail", "--accept"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--onward", "--repair", "--no-refresh", "--compare", "--do"):
        parser.add_argument(name, action="store_true")
    found, rest = parser.parse_known_args(arguments)
    assert rest == [], "what was typed is an option of its own"
    switches = [name for name, one in vars(found).items() if one is True]
    assert not switches or f"--{switches[0]}" in arguments
    assert all(word == f"--{word[2:].partition('=')[0]}" or "=" in word for word in arguments)


def test_a_form_takes_no_other_kind_of_value(dags: dict[str, DAG]) -> None:
    """Airflow checks a run's params by their schema: lists, mappings and unknown words are refused."""
    for dag in dags.values():
        for name in dag.params:
            param = dag.params.get_param(name)
            for wrong in ([1], {"a": 1}):
                with pytest.raises(Exception, match=r"Invalid input|is not"):
                    param.resolve(wrong)
            if "enum" in param.schema:
                with pytest.raises(Exception, match=r"Invalid input|is not one of"):
                    param.resolve("{{ 1 }}")
