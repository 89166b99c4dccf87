"""The sections of the channel file."""
