"""An Airflow in which a person answers what it asks, and looks at what tasks have returned."""

from __future__ import annotations

import json
from typing import Any

from airflow_ddlrepl.demo.standalone import Standalone


class Asked(Standalone):
    """`airflow standalone` with somebody at it."""

    def approve(self, dag_id: str, run_id: str, task_id: str, seconds: float) -> tuple[str, str]:
        """As a person does, as often as asked; what was shown to them, and the run's final state.

        Airflow asks again when the answer came before its scheduler had heard that the task waits.
        """
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}"
        shown = ""

        def answer() -> None:
            nonlocal shown
            asked = self.get(f"{path}/-1/hitlDetails")
            if asked and not asked["response_received"] and (self.get(path) or {}).get("state") == "awaiting_input":
                shown = str(asked["body"])
                token = json.loads(self.read("/auth/token"))["access_token"]
                chosen = json.dumps({"chosen_options": ["Approve"], "params_input": {}}).encode()
                self.read(f"{path}/-1/hitlDetails", token, chosen)

        state = self.wait_for_run(dag_id, run_id, seconds, answer)
        return shown, state

    def returned(self, dag_id: str, run_id: str, task_id: str) -> Any:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value"
        value = self.get(path)["value"]
        return json.loads(value) if isinstance(value, str) else value
