"""An auth manager of Airflow in which one user may not read some DAGs, as larger ones have it for their roles."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

STRANGER, HIDDEN = "sam", "shop"
UNASKED = "una"
"""She may read each DAG, and no approval."""


class SomeDags(SimpleAuthManager):  # type: ignore[misc]
    """Airflow's simple auth manager, but for DAGs with a certain word in their id, which one user may not read."""

    def is_authorized_dag(self, *, method: Any, user: Any, access_entity: Any = None, details: Any = None) -> bool:
        hidden = user.username == STRANGER and (details is None or details.id is None or HIDDEN in details.id)
        hidden |= user.username == UNASKED and access_entity is DagAccessEntity.HITL_DETAIL
        return not hidden and super().is_authorized_dag(
            method=method, user=user, access_entity=access_entity, details=details
        )
