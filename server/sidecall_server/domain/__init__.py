"""What is true: values, JSON text, truncation, projections, recorder, budget, one call.

Pure by contract (import-linter holds it): no gRPC, no protobuf, no asyncio, no clock, no
I/O. Functions take values and return values; time and ids come in from outside.
"""
