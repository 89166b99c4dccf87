"""This package compiles channels that other replication systems describe into channel files of ours."""
