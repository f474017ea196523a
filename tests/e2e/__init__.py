"""Whole agents against a whole sidecar."""
