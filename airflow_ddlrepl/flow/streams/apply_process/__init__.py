"""This package runs apply processes: transactions of queues become transactions at targets, or wait in error queues."""
