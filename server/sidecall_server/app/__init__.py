"""The process around the services: settings, sockets, life cycle, logs, command line."""
