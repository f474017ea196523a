"""The runtime without gRPC and protobuf: real sessions, a clock that tests move by hand."""
