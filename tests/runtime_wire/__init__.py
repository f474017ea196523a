"""Forged frames over a real socket: what is refused harms nobody else."""
