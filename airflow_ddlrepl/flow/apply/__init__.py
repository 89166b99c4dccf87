"""These modules turn the trail into transactions at a target."""
