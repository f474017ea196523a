/** The calls of one turn, in the order in which the model made them (SPEC G10). */
import type { Agent } from "./agent.js";
import { type CallReference, keyOf, type ToolCall } from "./call.js";
import type { CancelDisposition } from "./enums.js";
import { type Outcome, type PromptOutput, promptOutput } from "./outcome.js";
import type { DispatchOptions, PendingCall } from "./pending.js";

/** An output that goes into the model's next request. */
export interface TurnOutput {
  /** The response item as JSON text. */
  responseItemJson: string;
  /** How it stands in the outline of the prompt. */
  promptOutput: PromptOutput;
}

/** A turn. `Agent.turn` makes it. */
export class Turn {
  readonly turnId: string;
  readonly #agent: Agent;
  /** Each call once, in call order. */
  readonly #calls = new Map<string, PendingCall>();

  constructor(agent: Agent, turnId: string) {
    this.#agent = agent;
    this.turnId = turnId;
  }

  /** Dispatches a call of this turn, as `Agent.dispatch` does. */
  dispatch(call: Omit<ToolCall, "turnId">, options?: DispatchOptions): PendingCall {
    const pending = this.#agent.dispatch({ ...call, turnId: this.turnId }, options);
    const key = keyOf(pending.call);
    if (!this.#calls.has(key)) {
      this.#calls.set(key, pending);
    }
    return pending;
  }

  /**
   * Waits for all calls that were dispatched so far; their outcomes in call order.
   *
   * @throws RefusedError when a call was refused, SessionLostError when the session is gone.
   */
  outcomes(): Promise<Outcome[]> {
    return Promise.all([...this.#calls.values()].map((pending) => pending.outcome));
  }

  /**
   * Waits likewise; what goes into the model's next request, in call order. Calls without a
   * response item are left out: refused ones, fatal ones, those of scripts.
   */
  async outputs(): Promise<TurnOutput[]> {
    const ended = await Promise.allSettled(
      [...this.#calls.values()].map((pending) => pending.outcome),
    );
    return ended.flatMap((result) => {
      if (result.status === "rejected") {
        return [];
      }
      const { call, projections } = result.value;
      return projections.responseItemJson === undefined
        ? []
        : [{ responseItemJson: projections.responseItemJson, promptOutput: promptOutput(call) }];
    });
  }

  /** Cancels all open calls of the turn. See `Agent.cancel`. */
  cancel(): Promise<(CallReference & { disposition: CancelDisposition })[]> {
    return this.#agent.cancel({ turnId: this.turnId });
  }

  /** Says that the turn is over: it takes no new calls, its open ones go on. */
  end(): Promise<void> {
    return this.#agent.endTurn(this.turnId);
  }
}
