"""Hostile input: arbitrary bytes, mutated messages, hostile transport (`python -m tests.fuzz`)."""
