"""Which shape a table shall have at a target."""
