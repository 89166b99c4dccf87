"""The trail stores captured log segments and archived table rows in files, between the source and the targets."""
