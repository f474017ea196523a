/** The calls of one turn, in the order in which the model made them (SPEC G10). */
import type { Agent } from "./agent.js";
import { keyOf, type ToolCall } from "./call.js";
import { SessionLostError } from "./errors.js";
import type { Outcome } from "./outcome.js";
import type { DispatchOptions, PendingCall } from "./pending.js";
import type { CancelledCall } from "./session.js";

/** A turn. `Agent.turn` makes it. */
export class Turn {
  readonly turnId: string;
  readonly #agent: Agent;
  /** By the calls' ids, in call order: a call may be tried again after a refusal. */
  readonly #calls = new Map<string, PendingCall[]>();

  constructor(agent: Agent, turnId: string) {
    this.#agent = agent;
    this.turnId = turnId;
  }

  /** Dispatches a call of this turn, as `Agent.dispatch` does. */
  dispatch(call: Omit<ToolCall, "turnId">, options?: DispatchOptions): PendingCall {
    const pending = this.#agent.dispatch({ ...call, turnId: this.turnId }, options);
    const key = keyOf(pending.call);
    this.#calls.set(key, [...(this.#calls.get(key) ?? []), pending]);
    return pending;
  }

  /**
   * Waits for all calls that were dispatched so far; the outcome of each in call order.
   *
   * @throws RefusedError when a call was refused, SessionLostError when the session is gone.
   */
  outcomes(): Promise<Outcome[]> {
    return Promise.all(this.#ended());
  }

  /**
   * Waits likewise; the response items (JSON text) for the model's next request, in call order.
   * Calls without one are left out: refused ones, fatal ones, those of scripts.
   *
   * @throws SessionLostError when the session is gone before all calls have ended.
   */
  async responseItems(): Promise<string[]> {
    const ended = await Promise.allSettled(this.#ended());
    for (const result of ended) {
      if (result.status === "rejected" && result.reason instanceof SessionLostError) {
        throw result.reason;
      }
    }
    return ended.flatMap((result) =>
      result.status === "fulfilled" ? (result.value.projections.responseItemJson ?? []) : [],
    );
  }

  /** Cancels all open calls of the turn. See `Agent.cancel`. */
  cancel(): Promise<CancelledCall[]> {
    return this.#agent.cancel({ turnId: this.turnId });
  }

  /** Says that the turn is over: it takes no new calls, its open ones go on. */
  end(): Promise<void> {
    return this.#agent.endTurn(this.turnId);
  }

  /** The one outcome of each call; rejects with the first refusal where there is none. */
  #ended(): Promise<Outcome>[] {
    return [...this.#calls.values()].map((tries) =>
      Promise.any(tries.map(({ outcome }) => outcome)).catch(({ errors }: AggregateError) => {
        throw errors[0];
      }),
    );
  }
}
