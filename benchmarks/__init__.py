"""`python -m benchmarks` (make bench): the product against what PostgreSQL itself offers, both sides in one run."""
