"""Loads the plugin that records which requirements have a passing test (see tests/requirements_plugin.py)."""

pytest_plugins = ["tests.requirements_plugin"]
