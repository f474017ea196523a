"""The Python client: its parts alone, and whole against a real server."""
