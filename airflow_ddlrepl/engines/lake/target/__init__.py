"""This package keeps a channel's state beside a lake's catalog, finds what exists there, and applies programs."""
