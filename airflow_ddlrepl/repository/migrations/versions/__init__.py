"""One file per change of the repository's tables, in order."""
