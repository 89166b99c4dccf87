"""HVR's decisions per source database, for the documentation."""
