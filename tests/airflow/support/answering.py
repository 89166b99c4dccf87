"""An Airflow in which a person answers what it asks, and looks at what tasks have returned."""

from __future__ import annotations

import json
import time
from typing import Any

from airflow_ddlrepl.demo.standalone import Standalone

THINKING_SECONDS = 8


class Asked(Standalone):
    """`airflow standalone` with somebody at it."""

    def approve(self, dag_id: str, run_id: str, task_id: str, seconds: float) -> tuple[str, str]:
        """As a person does, as often as asked; what was shown to them, and the run's final state.

        Airflow asks again, and gives up in the end, when the answer came before its scheduler had heard that the task
        waits: so the person thinks for a moment each time.
        """
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}"
        shown = ""
        asked_at: dict[int, float] = {}

        def answer() -> None:
            nonlocal shown
            asked, task = self.get(f"{path}/-1/hitlDetails"), self.get(path) or {}
            if not asked or asked["response_received"] or task.get("state") != "awaiting_input":
                return
            if time.monotonic() - asked_at.setdefault(task["try_number"], time.monotonic()) > THINKING_SECONDS:
                shown = str(asked["body"])
                token = json.loads(self.read("/auth/token"))["access_token"]
                chosen = json.dumps({"chosen_options": ["Approve"], "params_input": {}}).encode()
                self.read(f"{path}/-1/hitlDetails", token, chosen)

        state = self.wait_for_run(dag_id, run_id, seconds, answer)
        return shown, state

    def returned(self, dag_id: str, run_id: str, task_id: str) -> Any:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value"
        value = self.wait_for_answer(path)["value"]
        return json.loads(value) if isinstance(value, str) else value
