"""What operators get to see of a running sidecar: call log, Prometheus, OpenTelemetry.

Ids, tool names, sizes and durations are shown. Arguments, outputs and secrets are not, but for
the log preview (SPEC E11), where ``log_previews`` is on.
"""
