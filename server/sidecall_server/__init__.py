"""The sidecall sidecar."""
