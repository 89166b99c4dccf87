"""The role that may create objects at the target, as in `tests/security/test_owners.py`."""

from tests.security.test_owners import planter

__all__ = ["planter"]
