"""The channel file and what it means."""
