"""Ports that the stages need beside a source and a target: what runs their tasks, what positions and types mean."""
