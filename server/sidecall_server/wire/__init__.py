"""Protobuf to domain values and back.

Writers that take `into` fill that message where it stands: frames of the stream are made so. A
message that is made first and handed to the one around it is serialised and parsed again, once
for each level; with a large output in it that was half of what a call cost.
"""
