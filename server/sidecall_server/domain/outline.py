"""The outputs of a session's last prompt, so that the next one is told, and searched, in brief.

A prompt is mostly the last one with a few outputs behind. Nothing here looks at an output twice:
what two prompts begin with alike is compared, not read again, and records find their outputs by
call id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sidecall_server.domain.errors import FailedPrecondition, InvalidArgument, Reason
from sidecall_server.domain.limits import MAX_LIST_ITEMS
from sidecall_server.domain.prompt_description import Prompt, PromptBase, PromptOutput, Writing
from sidecall_server.domain.values import utf8_size

OUTPUT_OVERHEAD_BYTES = 160
"""What an output costs in memory beside its ids, roughly."""


class Outline:
    """The outputs of one prompt after the other; prompts that differ have numbers, from 1."""

    def __init__(self) -> None:
        self.prompt = 0
        """The number of the prompt that is held."""
        self.writing = Writing()
        """How the first outputs of the prompt were written, as far as they were told as a whole."""
        self._outputs_bytes = 0
        self._outputs: list[PromptOutput] = []
        self._positions: dict[str, list[int]] = {}
        self._indexed = 0

    def __len__(self) -> int:
        return len(self._outputs)

    def __getitem__(self, index: int) -> PromptOutput:
        return self._outputs[index]

    @property
    def held_bytes(self) -> int:
        """What the prompt takes in memory."""
        return self._outputs_bytes + self.writing.held_bytes

    def after(self, count: int) -> list[PromptOutput]:
        """The outputs after the first ones."""
        return self._outputs[count:]

    def take(self, prompt: Prompt) -> int:
        """Take the next prompt. Returns how many of the first outputs stayed.

        Raises:
            FailedPrecondition: the base is not the prompt that is held (PROMPT_BASE_MISMATCH).
            InvalidArgument: it has not as many outputs, or the prompt would have too many.
        """
        outputs, base = prompt.outputs, prompt.base
        if base is None:
            alike = _common_start(self._outputs[prompt.known :], outputs)
            kept, outputs = prompt.known + alike, outputs[alike:]
            self.writing = prompt.writing or Writing()
        else:
            self._check(base)
            kept = base.kept_outputs
            if kept + len(outputs) > MAX_LIST_ITEMS:
                raise InvalidArgument.of(
                    "outputs", f"make a prompt of more than {MAX_LIST_ITEMS} outputs"
                )
            self.writing = self.writing.first(kept)
        for output in reversed(self._outputs[kept : self._indexed]):
            if output.call_id is not None:
                positions = self._positions[output.call_id]
                positions.pop()
                if not positions:
                    del self._positions[output.call_id]
        self._indexed = min(self._indexed, kept)
        self._outputs_bytes += sum(map(_size_bytes, outputs))
        self._outputs_bytes -= sum(map(_size_bytes, self._outputs[kept:]))
        if not self.prompt or outputs or kept < len(self._outputs):
            self.prompt += 1
        self._outputs[kept:] = outputs
        return kept

    def positions_of(self, call_ids: Iterable[str]) -> list[int]:
        """Where the outputs of these calls are, the last one first."""
        positions = self._positions
        for index in range(self._indexed, len(self._outputs)):
            call_id = self._outputs[index].call_id
            if call_id is not None:
                positions.setdefault(call_id, []).append(index)
        self._indexed = len(self._outputs)
        found = [index for call_id in call_ids for index in positions.get(call_id, ())]
        found.sort(reverse=True)
        return found

    def _check(self, base: PromptBase) -> None:
        if base.prompt != self.prompt or not self.prompt:
            raise FailedPrecondition(
                "the base is not the session's last prompt; describe the whole prompt",
                reason=Reason.PROMPT_BASE_MISMATCH,
            )
        if base.kept_outputs > len(self._outputs):
            raise InvalidArgument.of(
                "base.kept_outputs", f"the base has {len(self._outputs)} outputs"
            )


def _common_start(one: Sequence[PromptOutput], other: Sequence[PromptOutput]) -> int:
    """How many outputs two prompts begin with alike; slices compare faster than outputs do."""
    alike, limit = 0, min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    while limit - alike > 1:
        middle = (alike + limit) // 2
        if one[alike:middle] == other[alike:middle]:
            alike = middle
        else:
            limit = middle
    return alike


def _size_bytes(output: PromptOutput) -> int:
    return OUTPUT_OVERHEAD_BYTES + sum(utf8_size(text) for text in output[1:] if text is not None)
