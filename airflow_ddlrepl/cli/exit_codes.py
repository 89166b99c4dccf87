"""These functions say which exit code a command's result means."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.errors import Exit


def judge_rewind(result: Any) -> Exit:
    """Return FAILED for a plan of a rewind that can't be carried out."""
    return Exit.DONE if getattr(result, "is_possible", True) else Exit.FAILED


def judge_comparison(result: Any) -> Exit:
    """Return FAILED when anything differs, or a table of the channel could not be compared."""
    return Exit.DONE if result.is_equal else Exit.FAILED


def judge_status(result: Any) -> Exit:
    """Return UNREACHABLE when the source or a target does not answer."""
    status_json = result.to_json()
    is_away = status_json.get("source_unreachable") or any(
        target["unreachable"] for target in status_json["targets"].values()
    )
    return Exit.UNREACHABLE if is_away else Exit.DONE


def judge_cutover(result: Any) -> Exit:
    """Return FAILED when a check found something missing for a cut-over."""
    return Exit.DONE if getattr(result, "is_ready", True) else Exit.FAILED


def judge_import(result: Any) -> Exit:
    """Return FAILED when a part of what is imported was refused."""
    return Exit.DONE if result.is_whole else Exit.FAILED


def judge_maintenance(result: Any) -> Exit:
    """Return FAILED when a table was left as it was."""
    return Exit.FAILED if result.left else Exit.DONE
