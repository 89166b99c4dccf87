"""This package compiles the definition of an HVR channel, as text or as exported JSON, into a channel file."""
