"""The channel file: read, checked and documented."""
