"""The channel file: its sections, their rules, and how it is read."""
