"""HVR: its DDL table, its source databases, its notation for actions, and channels that it describes."""
