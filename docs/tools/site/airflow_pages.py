"""Write the pages about Airflow from the product: DAGs of a channel, operators with their XComs, options."""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow_ddlrepl.flow.admin.status import Status
from airflow_ddlrepl.get_provider_info import get_provider_info

CHANNELS = (
    """
channel: shop
source: {location: shop_db, tables: ["public.*"]}
targets: [{name: warehouse, location: warehouse_db}, {name: lake, location: "iceberg:///data/lake/catalog.db"}]
adapt_ddl: [{add_table_pattern: "*", on_enroll_break: FAIL_INTEG_JOB, refresh_options: "-inow"}]
rewind_horizon: {age: 7d}
replays: [{name: past, location: past_db}]
schedule: "*/5 * * * *"
""",
)
"""A channel that has every DAG."""
DAGS = """\
# DAGs of a channel

[In Airflow](../airflow.md) says how Airflow gets them and what each is there for. The ids contain the channel's name,
here `shop`. A channel has the DAGs that its file asks for: this one has replays, a schedule, a control, `-inow`,
a lake.
"""
OPERATORS = """\
# Operators and their XComs

The DAGs of a channel consist of these operators; a DAG of yours may use them, too. The XCom `return_value` is what a
task returns. A task that fails leaves its reason under the key `ddlrepl_error`: `code`, `message`, `hint`, `target`,
`table`, `at`, `retryable`, `client` (of Streams).
"""
OPTIONS = """\
# Options and connections in Airflow

Set them in `airflow.cfg`, section `[ddlrepl]`, or by the environment variable of the last column.
"""


def dags() -> str:
    """Return the page of the DAGs as Markdown."""
    return "\n".join([DAGS, *(line for dag in built_dags().values() for line in _dag(dag))])


def built_dags() -> Mapping[str, Any]:
    """Return the DAGs of the channels of this page, by their ids."""
    from airflow_ddlrepl.dags.build import dags_and_refusals

    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"channel{n}.yaml" for n, _ in enumerate(CHANNELS)]
        for file, text in zip(files, CHANNELS, strict=True):
            file.write_text(text, encoding="utf-8")
        refused: list[Any]
        found: dict[str, Any]
        found, refused = dags_and_refusals(files)
    assert not refused, refused
    return found


def _dag(dag: Any) -> Iterator[str]:
    yield f"## {dag.dag_id}\n"
    if dag.dag_display_name not in ("", dag.dag_id):
        yield f"Shown as **{_cell(dag.dag_display_name)}**.\n"
    yield f"{_cell(dag.description or '')}.\n"
    yield "| Task | Operator | After |"
    yield "|---|---|---|"
    for task in dag.topological_sort():
        yield f"| `{task.task_id}` | {type(task).__name__} | {', '.join(sorted(task.upstream_task_ids))} |"
    yield ""
    if dag.params:
        yield "| Field of the form, key of the conf | Values | Default | Meaning |"
        yield "|---|---|---|---|"
        yield from (_param(name, dag.params.get_param(name)) for name in dag.params)
        yield ""


def _param(name: str, param: Any) -> str:
    schema = param.schema
    kinds = schema.get("type", "")
    values = ", ".join(f"`{one}`" for one in schema["enum"]) if schema.get("enum") else _kinds(kinds)
    default = "" if _is_empty(param) else f"`{param.value}`"
    meaning = ": ".join(text for text in (schema.get("title", ""), param.description or "") if text)
    return f"| `{name}` | {values} | {default} | {_cell(meaning)} |"


def _kinds(kinds: str | list[str]) -> str:
    return ", ".join(one for one in ([kinds] if isinstance(kinds, str) else kinds) if one != "null")


def _is_empty(param: Any) -> bool:
    return not param.has_value or param.value in (None, "")


def operators() -> str:
    """Return the page of the operators as Markdown."""
    status = inspect.getdoc(Status) or ""
    keys = ", ".join(f"`{name}`" for name in Status.__dataclass_fields__)
    last = ["## The status of a channel\n", f"The keys of `ddlrepl status --json`: {keys}.\n", f"{_text(status)}\n"]
    return "\n".join([OPERATORS, *(line for one in operator_classes() for line in _operator(one)), *last])


def operator_classes() -> list[Any]:
    """Return the operators and sensors that the package tells Airflow of, each once."""
    info = get_provider_info()
    modules = [name for kind in ("operators", "sensors") for part in info[kind] for name in part["python-modules"]]
    found = {}
    for name in modules:
        module = import_module(name)
        for one in vars(module).values():
            is_ours = inspect.isclass(one) and one.__module__ == name and not one.__name__.startswith("_")
            if is_ours and one.__name__.endswith(("Operator", "Sensor")):
                found[one.__qualname__] = one
    return list(found.values())


def _operator(one: Any) -> Iterator[str]:
    about, _, rest = (inspect.getdoc(one) or "").partition(":param ")
    yield f"## {one.__name__}\n"
    yield f"`from {one.__module__} import {one.__name__}`\n"
    yield f"{_text(about)}\n"
    if keys := xcom_keys(one):
        yield f"XCom keys: {', '.join(f'`{key}`' for key in ('return_value', *keys))}.\n"
    params, _, more = rest.partition("\n\n")
    for name, meaning in (part.split(":", 1) for part in params.split(":param ") if ":" in part):
        yield f"- `{name}`: {_text(meaning)}"
    yield ""
    if more:
        yield f"{_text(more)}\n"


def xcom_keys(one: Any) -> list[str]:
    """Return the keys that the operator's own code pushes XComs under."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
    pushed = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _pushes(node)]
    keys = [word.value for call in pushed for word in call.keywords if word.arg == "key"]
    return sorted({key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)})


def _pushes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "xcom_push"


def options() -> str:
    """Return the page of the options as Markdown."""
    lines = [OPTIONS, "| Option | Values | Default | Meaning | Environment variable |", "|---|---|---|---|---|"]
    for name, option in get_provider_info()["config"]["ddlrepl"]["options"].items():
        default = f"`{option['default']}`" if option["default"] else ""
        variable = f"`AIRFLOW__DDLREPL__{name.upper()}`"
        example = f" Example: `{option['example']}`" if option.get("example") else ""
        lines.append(
            f"| `{name}` | {option['type']} | {default} | {_cell(option['description'])}{example} | {variable} |"
        )
    return "\n".join(
        [*lines, "", *(line for one in get_provider_info()["connection-types"] for line in _connection(one))]
    )


def _connection(one: Mapping[str, Any]) -> Iterator[str]:
    module, _, name = one["hook-class-name"].rpartition(".")
    hook = getattr(import_module(module), name)
    yield f"## The connection type {hook.hook_name}\n"
    yield f"Its type is `{one['connection-type']}`. Besides host, port, login, password and schema it has these:\n"
    yield "| Field | Key of the extra | Values | Meaning |"
    yield "|---|---|---|---|"
    for key, field in one.get("conn-fields", {}).items():
        schema = field.get("schema", {})
        values = ", ".join(f"`{value}`" for value in schema.get("enum", ()))
        yield f"| {field['label']} | `{key}` | {values} | {_cell(field.get('description', ''))} |"
    yield ""


def _text(text: str) -> str:
    return "\n\n".join(re.sub(r"\*", r"\\*", " ".join(part.split())) for part in text.split("\n\n"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
