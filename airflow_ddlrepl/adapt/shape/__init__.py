"""These modules decide which shape a table gets at a target."""
