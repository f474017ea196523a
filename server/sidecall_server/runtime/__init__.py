"""What happens when: sessions, gates, calls, time-outs, connections, events.

asyncio, and no gRPC or protobuf (import-linter holds it). Everything runs on one event
loop, and nothing here awaits a handler or a hook: frames come in, the call machine
steps, frames go out.
"""
