"""Targets: whether one is ready, and how one is prepared."""
