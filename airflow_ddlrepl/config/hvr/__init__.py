"""This package has HVR's vocabulary: its DDL table, its source databases, its notation for actions."""
