"""These modules bring a source's sequences to the targets, and keep their values ahead."""
