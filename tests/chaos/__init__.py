"""Breaks everything at random, seeded, and checks every invariant (`python -m tests.chaos`)."""
