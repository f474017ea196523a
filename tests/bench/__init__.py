"""What the sidecar costs, beside an echo of the same shape (`python -m tests.bench`)."""
