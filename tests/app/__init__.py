"""The process: settings, sockets, life cycle, logs, command line; with real processes."""
