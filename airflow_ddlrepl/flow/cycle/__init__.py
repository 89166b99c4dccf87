"""A cycle lines up the stages: capture, adapt, refresh, integrate."""
