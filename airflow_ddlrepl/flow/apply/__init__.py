"""Apply: the trail becomes transactions at a target."""
