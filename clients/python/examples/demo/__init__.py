"""An example agent with real tools: `python -m demo`. Start with `agent`."""
