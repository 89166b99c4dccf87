"""These modules decide which SQL texts of a source may be written into SQL for a target."""
