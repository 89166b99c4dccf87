"""What people ask for: activate, compare, plan, status, controls."""
