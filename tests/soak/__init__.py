"""A steady load over minutes that must leave nothing behind (`python -m tests.soak`)."""
