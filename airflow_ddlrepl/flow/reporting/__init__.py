"""This package says of a channel what its runs have found: stored statuses, and events of assets."""
