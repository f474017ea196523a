"""Several hooks at one point of one call: run together, combined to one answer (SPEC F6, F9)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecall.client.tools import (
    Block,
    Feedback,
    Hook,
    HookInput,
    HookPoint,
    Proceed,
    Rewrite,
    Verdict,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one hook came to; `verdict` None: it failed. `finished` orders them in time."""

    verdict: Verdict | None
    finished: int


async def ask(hooks: Sequence[Hook], asked: HookInput) -> Verdict | None:
    """Run the hooks side by side and combine what they say; None: all of them failed."""
    finished = 0

    async def run(hook: Hook) -> Answer:
        nonlocal finished
        verdict: Verdict | None = None
        try:
            verdict = _checked(await hook.function(asked))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # nobody wants the verdict any more
            log.exception("a hook cancelled itself; the call goes on as if it had not been asked")
        except Exception:
            log.exception("a hook failed; the call goes on as if it had not been asked")
        finished += 1
        return Answer(verdict, finished)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(hook)) for hook in hooks]
    return combine(asked.point, [task.result() for task in tasks])


def _checked(answer: object) -> Verdict:
    """What a hook answered, as a verdict.

    Raises:
        TypeError: it is none, or holds what is no text.
    """
    if answer is None:
        return Proceed()
    match answer:
        case Proceed(additional_contexts=contexts):
            texts: list[object] = []
        case (
            Rewrite(input_json=text, additional_contexts=contexts)
            | Block(reason=text, additional_contexts=contexts)
            | Feedback(message=text, additional_contexts=contexts)
        ):
            texts = [text]
        case _:
            raise TypeError(f"a hook answers with a verdict or None, not with {answer!r}")
    if isinstance(contexts, str) or not all(isinstance(one, str) for one in [*texts, *contexts]):
        raise TypeError(
            f"a verdict holds texts and a sequence of contexts, which are texts: {answer!r}"
        )
    return answer


def combine(point: HookPoint, answers: Sequence[Answer]) -> Verdict | None:
    """One verdict of several, in the order in which the hooks are declared.

    The contexts of every hook stay. A block cancels all rewrites; the first block's reason
    holds before the handler, all of them after it (a blank line between). Of several rewrites
    the one that finished last wins. None: no hook gave an answer.
    """
    given = [answer for answer in answers if answer.verdict is not None]
    if answers and not given:
        return None
    verdicts = [answer.verdict for answer in given if answer.verdict is not None]
    contexts = [context for verdict in verdicts for context in verdict.additional_contexts]
    return replace(_strongest(point, given, verdicts), additional_contexts=contexts)


def _strongest(point: HookPoint, given: Sequence[Answer], verdicts: Sequence[Verdict]) -> Verdict:
    reasons = [verdict.reason for verdict in verdicts if isinstance(verdict, Block)]
    if reasons:
        said = [reason for reason in reasons if reason.strip()]
        return Block("\n\n".join(said) if point == "post_tool_use" else next(iter(said), ""))
    feedback = [verdict.message for verdict in verdicts if isinstance(verdict, Feedback)]
    if feedback:
        return Feedback("\n\n".join(feedback))
    rewrites = [answer for answer in given if isinstance(answer.verdict, Rewrite)]
    if rewrites:
        last = max(rewrites, key=lambda answer: answer.finished).verdict
        assert last is not None, "rewrites are verdicts"
        return last
    return Proceed()
