"""The same cycle through the client libraries, one small program each.

A program reads one JSON line: `endpoint`, `arguments`, `output`, `in_flight`, `turn_calls`,
`warm_up_calls`, `seconds`. It runs `in_flight` loops, each of which dispatches a call of the
tool `work` and waits for its outcome, in turns of its own of `turn_calls` calls. Once
`warm_up_calls` have ended it writes `"running"`, and after `seconds` more a line with
`seconds` and `calls`. It ends when stdin does; the next line begins anew.
"""
