"""Airflow finds the provider and what it brings."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from importlib.resources import files

import jsonschema
import pytest
from airflow.dag_processing.bundles.base import BaseDagBundle

from airflow_ddlrepl import __version__
from airflow_ddlrepl.get_provider_info import CONNECTION_TYPE, OPTIONS, get_provider_info


def test_provider_info_is_what_airflow_expects() -> None:
    schema = json.loads((files("airflow") / "provider_info.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(get_provider_info(), schema)


def test_the_modules_that_it_names_exist() -> None:
    info = get_provider_info()
    for section in ("operators", "bundles"):
        for entry in info[section]:
            for module in entry["python-modules"]:
                import_module(module)
    for name in info["cli"]:
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(module), function))


def test_airflow_lists_the_provider() -> None:
    from airflow.providers_manager import ProvidersManager

    assert ProvidersManager().providers["airflow-ddlrepl"].version == __version__


def test_the_logo_is_a_picture_that_the_plugin_serves() -> None:
    from starlette.testclient import TestClient

    from airflow_ddlrepl.plugin.app import web_app

    (integration,) = get_provider_info()["integrations"]
    mount, _, path = integration["logo"].lstrip("/").partition("/")
    assert mount == "ddlrepl"
    answer = TestClient(web_app()).get(f"/{path}")
    assert answer.status_code == 200 and "svg" in answer.headers["content-type"] and "<svg" in answer.text


@pytest.mark.req("DC-06")
def test_airflow_finds_everything_that_the_provider_brings() -> None:
    """By the package that is installed: commands, connection type, options, links, and bundles of channel files."""
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()
    assert "ddlrepl" in {command.name for function in manager.cli_command_functions for command in function()}
    assert dict(manager.provider_configs)["airflow-ddlrepl"]["ddlrepl"]["options"] == OPTIONS
    assert f"extra__{CONNECTION_TYPE}__sslmode" in manager.connection_form_widgets
    assert {name for name in manager.extra_links_class_names if name.startswith("airflow_ddlrepl.")}
    (bundles,) = manager.providers["airflow-ddlrepl"].data["bundles"]
    assert issubclass(import_module(bundles["python-modules"][0]).ChannelDagBundle, BaseDagBundle)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_have_a_default_and_can_be_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_ddlrepl.hooks.settings import option

    monkeypatch.delenv(f"AIRFLOW__DDLREPL__{name.upper()}", raising=False)
    assert option(name) == OPTIONS[name]["default"]
    monkeypatch.setenv(f"AIRFLOW__DDLREPL__{name.upper()}", " else ")
    assert option(name) == "else"


def airflow(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_airflow_offers_the_commands_of_ddlrepl() -> None:
    told = airflow("ddlrepl", "check", "--json", "nowhere.yaml")
    assert told.returncode == 2, told.stderr
    assert "CFG-100" in told.stdout + told.stderr
    assert "Usage: ddlrepl replicate" in airflow("ddlrepl", "replicate", "--help").stdout
