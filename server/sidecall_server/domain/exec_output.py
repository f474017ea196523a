"""The views of a command's output (SPEC C)."""

from __future__ import annotations

from sidecall_server.domain.durations import seconds_of, wall_time_line
from sidecall_server.domain.json_text import (
    quote,
    write,
)
from sidecall_server.domain.json_value import JsonValue
from sidecall_server.domain.limits import DEFAULT_EXEC_OUTPUT_TOKENS
from sidecall_server.domain.once import once
from sidecall_server.domain.output_views import OutputViews
from sidecall_server.domain.outputs import ExecCommandOutput
from sidecall_server.domain.response_item import ResponseItem, respond
from sidecall_server.domain.truncation import (
    TokensPolicy,
    decode_lossy,
    tokens_of,
    truncate,
    truncate_formatted,
    truncation_warning,
)
from sidecall_server.domain.values import utf8_size


class ExecCommandViews(OutputViews[ExecCommandOutput]):
    """Always a success, whatever the exit code (C4)."""

    @once
    def log_text(self) -> str:
        return "\n".join([*self._header_lines(), self._model_body])

    @property
    def success_for_logging(self) -> bool:
        return True

    @once
    def response_item(self) -> ResponseItem:
        return respond(self.call.payload.kind, self.call.call_id, self.log_text, True)

    @property
    def hook_id(self) -> str:
        return self.output.event_call_id or self.call.call_id

    @property
    def hook_input_json(self) -> str | None:
        command = self.output.hook_command
        return None if command is None else f'{{"command":{quote(command)}}}'

    @property
    def hook_response_json(self) -> str | None:
        """The body alone, once the command has ended (C5)."""
        return None if self.hidden_from_hooks else quote(self._model_body)

    @property
    def hidden_from_hooks(self) -> bool:
        return self.output.process_id is not None or self.output.hook_command is None

    @property
    def code_mode_json(self) -> str:
        """An object; the policy of the model does not bound it (C6)."""
        output = self.output
        fields: dict[str, JsonValue] = {}
        if output.chunk_id:
            fields["chunk_id"] = output.chunk_id
        fields["wall_time_seconds"] = seconds_of(output.wall_time_nanoseconds)
        if output.exit_code is not None:
            fields["exit_code"] = output.exit_code
        if output.process_id is not None:
            fields["session_id"] = output.process_id
        if output.original_token_count is not None:
            fields["original_token_count"] = output.original_token_count
        fields["output"] = (
            self._text
            if output.max_output_tokens is None
            else self._body(TokensPolicy(output.max_output_tokens))
        )
        return write(fields)

    @once
    def _text(self) -> str:
        return decode_lossy(self.output.output)

    @once
    def _model_body(self) -> str:
        """The body at the smaller of what was asked for and the model's policy (C2)."""
        asked = self.output.max_output_tokens
        budget = DEFAULT_EXEC_OUTPUT_TOKENS if asked is None else asked
        return self._body(TokensPolicy(min(budget, self.output.truncation_policy.token_budget)))

    def _header_lines(self) -> list[str]:
        output = self.output
        lines = []
        if output.chunk_id:
            lines.append(f"Chunk ID: {output.chunk_id}")
        lines.append(wall_time_line(output.wall_time_nanoseconds))
        if output.exit_code is not None:
            lines.append(f"Process exited with code {output.exit_code}")
        if output.process_id is not None:
            lines.append(f"Process running with session ID {output.process_id}")
        if output.original_token_count is not None:
            lines.append(f"Original token count: {output.original_token_count}")
        lines.append("Output:")
        return lines

    def _body(self, policy: TokensPolicy) -> str:
        """The text within a budget; says how many bytes the collection dropped (C3)."""
        if not self.output.output_omitted_bytes:
            return truncate_formatted(self.output.output, policy)
        marker = f"... {self.output.output_omitted_bytes} bytes omitted ..."
        size = utf8_size(self._text)
        if size <= policy.byte_budget:
            return self._text if marker in self._text else f"{marker}\n{self._text}"
        original_tokens = self.output.original_token_count
        if original_tokens is None:
            original_tokens = tokens_of(size)
        cut = truncate(self._text, policy)
        marker_line = "" if marker in cut else f"{marker}\n"
        return f"{truncation_warning(original_tokens)}{marker_line}\n{cut}"
