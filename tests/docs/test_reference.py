"""The generated pages of the reference leave nothing of the product out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.main import get_command

from airflow_ddlrepl import engines
from airflow_ddlrepl.cli.app import app
from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.postgres.types import casts
from airflow_ddlrepl.errors.codes import CODES
from airflow_ddlrepl.get_provider_info import CONNECTION_FIELDS, OPTIONS
from airflow_ddlrepl.known_engines import ENGINES
from airflow_ddlrepl.plugin.app import web_app
from docs.tools.site import airflow_pages, api_page, codes_page, commands_page, errors_page, types_page

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

ROOT = Path(__file__).parents[2]


def test_the_page_of_errors_is_what_the_list_of_codes_says() -> None:
    """`python -m docs.tools.site.codes_page` writes it again."""
    assert codes_page.PAGE.read_text(encoding="utf-8") == codes_page.page()


def test_the_page_of_messages_has_every_code_of_the_product() -> None:
    headings = re.findall(r"^### (\S+)$", errors_page.page(), re.MULTILINE)
    assert sorted(set(headings)) == headings == list(CODES)


def test_every_code_has_a_text_and_a_module_that_exists() -> None:
    for section in errors_page.page().split("\n### ")[1:]:
        code, said, rest = section.split("\n\n", 2)
        assert said.strip("*.: ") and not said.startswith("<small>"), code
        modules = re.findall(r"`((?:airflow_ddlrepl|dags|spark_apps)/[\w/]+\.py)`", rest)
        assert modules and all((ROOT / module).is_file() for module in modules), code


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            "CFG-110",
            "‹text› is not a position.",
            "A position looks like 0/16B3748, as status prints it.",
        ),  # in the call
        ("LCK-101", "", ""),
        ("SQL-110", "", ""),  # in a table of errors
        ("CUT-112", "A table is suspended at a target.", ""),  # listed alone
    ],
)
def test_messages_and_hints_are_those_of_the_code(code: str, message: str, hint: str) -> None:
    section = errors_page.page().partition(f"\n### {code}\n")[2].partition("\n### ")[0]
    assert message in section and hint in section
    assert len(section.split("<small>")[0].strip()) > 20


def test_the_page_of_commands_has_every_command_and_option() -> None:
    page = commands_page.page()
    for path, command in every_command(get_command(app), "ddlrepl"):
        section = re.split(r"^##", page.partition(f"# {path}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        assert section, path
        section = section.replace("\\|", "|")
        for option in command.params:  # type: ignore[attr-defined]
            names = option.opts if option.param_type_name == "option" else [option.metavar or option.name.upper()]
            assert all(f"`{name}`" in section for name in names if name != "--help"), f"{path}: {names}"


def every_command(group: object, path: str) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        is_group = hasattr(command, "commands")
        found += every_command(command, f"{path} {name}") if is_group else [(f"{path} {name}", command)]
    return found


def test_the_page_of_dags_has_every_kind_of_dag_and_every_field() -> None:
    page, built = airflow_pages.dags(), airflow_pages.built_dags()
    kinds = {dag_id.rpartition("__")[2] for dag_id in built}
    named = set(re.findall(r"`ddlrepl__<channel>__(\w+)`", (ROOT / "docs/airflow.md").read_text(encoding="utf-8")))
    assert sorted(named - kinds) == []
    for dag_id, dag in built.items():
        section = re.split(r"^## ", page.partition(f"## {dag_id}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        assert all(f"| `{name}` |" in section for name in (*dag.params, *dag.task_ids)), dag_id


def test_the_page_of_operators_has_each_with_the_keys_that_it_pushes() -> None:
    page = airflow_pages.operators()
    modules = [file for file in (ROOT / "airflow_ddlrepl/operators").rglob("*.py") if file.parent.name != "messages"]
    pushed = {key for file in modules for key in re.findall(r"xcom_push\(key=\"(\w+)\"", file.read_text())}
    assert {"status", "text"} <= pushed
    assert all(f"`{key}`" in page for key in pushed)
    assert "## CaptureOperator" in page and "## MessageSensor" in page


def test_the_page_of_options_has_each_with_its_environment_variable() -> None:
    page = airflow_pages.options()
    assert all(f"| `{name}` |" in page and f"`AIRFLOW__DDLREPL__{name.upper()}`" in page for name in OPTIONS)


def test_the_page_of_options_has_the_fields_of_the_connection() -> None:
    page = airflow_pages.options()
    assert "## The connection type Replication database" in page
    assert all(f"| `{key}` |" in page for key in CONNECTION_FIELDS)


def test_the_page_of_the_api_has_every_address_parameter_and_key_that_is_served() -> None:
    """The app is Airflow's API server's own: what it serves is asked, not read from a file."""
    page, described = api_page.page(), api_page.description()
    app = web_app()
    served = {f"/ddlrepl{getattr(one, 'path', '')}" for one in app.routes if getattr(one, "include_in_schema", False)}
    assert set(described["paths"]) == served
    assert all(path.startswith("/ddlrepl/api/") for path in served)
    asked = TestClient(app).get("/api/openapi.json").json()
    assert [f"/ddlrepl{path}" for path in asked["paths"]] == list(described["paths"])
    assert (asked["components"], asked["info"]) == (described["components"], described["info"])
    for path, item in described["paths"].items():
        section = page.partition(f"\n## GET {path}\n")[2].partition("\n## ")[0]
        assert all(f"| `{one['name']}` |" in section for one in item["get"].get("parameters", ())), path
        assert all(f"| {status} |" in section for status in item["get"]["responses"]), path
    for name, schema in described["components"]["schemas"].items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{key}` |" in section for key in schema["properties"]), name


def test_the_page_of_types_is_what_the_type_systems_say() -> None:
    """`python -m docs.tools.site.types_page` writes it again."""
    assert types_page.PAGE.read_text(encoding="utf-8") == types_page.page()
    ours = {scheme for scheme, module in ENGINES.items() if module.startswith("airflow_ddlrepl.")}
    assert set(types_page.ENGINES) == ours


@pytest.mark.parametrize("text", types_page.LISTED)
def test_a_type_of_duckdb_is_what_its_columns_are_made_with(text: str) -> None:
    found = types_page.held(text, engines.engine("duckdb://").types)
    assert found.type.text == physical(types_page.listed(text), types_page.DEFINED)


def test_the_page_of_types_has_every_type_whose_casts_are_known() -> None:
    known = {value for name, value in vars(casts).items() if name.isupper() and isinstance(value, int)}
    assert known == set(types_page.TYPES.values())
    casts_of = types_page.page().partition("| From |")[2]
    rows = {row.split("`")[1]: row.split(" | ") for row in casts_of.splitlines() if row.startswith("| `")}
    assert rows["integer"][1:4] == ["bigint, numeric, double precision", "smallint, real, text, varchar", "boolean"]
    assert "timestamptz\\*" in rows["timestamp"][2]
