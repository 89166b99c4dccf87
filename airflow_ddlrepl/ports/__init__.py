"""Ports that the stages need beside a source and a target: for running tasks, reading rows, positions and types."""
