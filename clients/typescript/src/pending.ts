/** Calls on their way, and the credits they hold. */
import { setMaxListeners } from "node:events";
import { type CallReference, keyOf, type ToolCall, wireCall } from "./call.js";
import { wireDuration } from "./durations.js";
import type { CancelDisposition, View } from "./enums.js";
import { RefusedError } from "./errors.js";
import {
  type CallCompleted,
  ClientFrame,
  type FrameError,
  type Welcome,
} from "./gen/sidecall/v1/runtime_stream.js";
import { ToolPayload } from "./gen/sidecall/v1/tool_call.js";
import { Place } from "./link.js";
import { type TurnOptions, wireTurnOptions, wireViews } from "./options.js";
import { type Outcome, readOutcome } from "./outcome.js";
import { withResolvers } from "./with-resolvers.js";

/** What may be said more about one dispatch. */
export interface DispatchOptions {
  /** The views wanted of the outcome. Absent: those of the session. */
  views?: readonly View[] | undefined;
  /** How long the call may take in all, in milliseconds. Absent: as its tool says. */
  timeoutMs?: number | undefined;
  /** What the call's turn says differently from its session. */
  turnOptions?: TurnOptions | undefined;
  /** The W3C trace context of the caller. */
  traceparent?: string | undefined;
  /**
   * Cancels the call. The call still ends with an outcome: aborted, or what was already on its
   * way; so the model always gets an output.
   */
  signal?: AbortSignal | undefined;
}

/** Cancels one call. */
export type Cancel = (call: CallReference) => Promise<CancelDisposition>;

/**
 * A dispatched call; await it for its outcome, as often as you like. It rejects with a
 * `RefusedError` (TURN_ENDED, CALL_ID_CONFLICT, INVALID_FIELD, …) or a `SessionLostError`.
 */
export class PendingCall implements PromiseLike<Outcome> {
  /** The call as it was dispatched. */
  readonly call: ToolCall;
  /** Its outcome, as a plain promise. */
  readonly outcome: Promise<Outcome>;
  readonly #cancel: Cancel;

  constructor(call: ToolCall, outcome: Promise<Outcome>, cancel: Cancel) {
    this.call = call;
    this.outcome = outcome;
    this.#cancel = cancel;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a call is what it is for
  then<A = Outcome, B = never>(
    onfulfilled?: ((outcome: Outcome) => A | PromiseLike<A>) | null,
    onrejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.outcome.then(onfulfilled, onrejected);
  }

  /**
   * Cancels the call; never too late. Its outcome says how far it got.
   *
   * @throws SessionLostError when the session is gone.
   */
  cancel(): Promise<CancelDisposition> {
    return this.#cancel(this.call);
  }
}

interface OpenCall {
  call: ToolCall;
  payload: Uint8Array;
  frame: Uint8Array;
  place: Place;
  /** What it holds of the credits: its frame, and its handler's result. */
  sizeBytes: number;
  /** A cancel has to follow the dispatch. */
  isCancelled: boolean;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** What sends for the calls. */
export interface CallSender {
  send(frame: Uint8Array, place: Place): void;
  cancel: Cancel;
}

/** The calls without an outcome: those that were sent, and those that wait for credits. */
export class PendingCalls {
  readonly #sender: CallSender;
  readonly #open = new Map<string, OpenCall[]>();
  #waiting: OpenCall[] = [];
  #openCalls = 0;
  #openBytes = 0;
  #maxCalls = 1;
  #maxBytes = Number.POSITIVE_INFINITY;
  #maxFrameBytes = Number.POSITIVE_INFINITY;

  constructor(sender: CallSender) {
    this.#sender = sender;
  }

  /** Takes the credits that the server grants. */
  welcomed(welcome: Welcome): void {
    this.#maxCalls = welcome.maxCallsInFlight || Number.POSITIVE_INFINITY;
    this.#maxBytes = Number(welcome.maxBytesInFlight) || Number.POSITIVE_INFINITY;
    this.#maxFrameBytes = Number(welcome.maxFrameBytes) || Number.POSITIVE_INFINITY;
    this.#admit();
  }

  /** Sends a call, as soon as the credits allow it; calls keep their order. */
  dispatch(call: ToolCall, options: DispatchOptions, lost: Error | undefined): PendingCall {
    const { promise, resolve, reject } = withResolvers<Outcome>();
    promise.catch(() => undefined); // nobody has to ask for it
    const message = wireCall(call);
    const frame = ClientFrame.encode({
      frame: {
        $case: "dispatchCall",
        value: {
          call: message,
          turnOptions: wireTurnOptions(options.turnOptions),
          views: wireViews(options.views),
          timeout: wireDuration(options.timeoutMs),
          traceparent: options.traceparent ?? "",
        },
      },
    }).finish();
    const payload = message.payload ? ToolPayload.encode(message.payload).finish() : frame;
    if (lost !== undefined) {
      reject(lost);
    } else if (frame.length > this.#maxFrameBytes) {
      reject(tooLarge(frame.length, this.#maxFrameBytes));
    } else {
      const sizeBytes = frame.length;
      const place = new Place();
      const isCancelled = options.signal?.aborted ?? false;
      const open = { call, payload, frame, place, sizeBytes, isCancelled, resolve, reject };
      this.#cancelWith(options.signal, open, promise);
      this.#waiting.push(open);
      this.#admit();
    }
    return new PendingCall(call, promise, this.#sender.cancel);
  }

  /** Marks calls that still wait here: a cancel is sent right behind them. */
  cancelWaiting(names: (call: CallReference) => boolean): CallReference[] {
    const marked = this.#waiting.filter(({ call }) => names(call) && !this.#open.has(keyOf(call)));
    for (const open of marked) {
      open.isCancelled = true;
    }
    return marked.map(({ call }) => ({ turnId: call.turnId, callId: call.callId }));
  }

  /** Counts the result of a call's handler. */
  answered(call: CallReference, sizeBytes: number): void {
    const open = this.#open.get(keyOf(call))?.[0];
    if (open !== undefined) {
      open.sizeBytes += sizeBytes;
      this.#openBytes += sizeBytes;
    }
  }

  /** Ends a call with its outcome. A call that is told again after a gap is not known any more. */
  completed(frame: CallCompleted): void {
    const key = keyOf(frame.call ?? { turnId: "", callId: "" });
    const calls = this.#open.get(key) ?? [];
    // A dispatch under the same ids with another payload has its own answer, a refusal.
    const [ended, others] = partition(calls, (open) => sameBytes(open.payload, calls[0]?.payload));
    this.#replace(key, others);
    for (const open of ended) {
      this.#release(open);
      open.resolve(readOutcome(open.call, frame));
    }
    this.#admit();
  }

  /** Ends the dispatches that were refused. False: the frame error concerns none. */
  refused(frame: FrameError, error: RefusedError): boolean {
    let isHeard = false;
    for (const [key, calls] of [...this.#open]) {
      const [refused, others] = partition(calls, ({ place }) => place.covers(frame));
      this.#replace(key, others);
      for (const open of refused) {
        this.#release(open);
        open.reject(error);
      }
      isHeard ||= refused.length > 0;
    }
    this.#admit();
    return isHeard;
  }

  /** Ends all calls without an outcome. */
  fail(error: unknown): void {
    for (const open of [...this.#open.values(), this.#waiting].flat()) {
      open.reject(error);
    }
    this.#open.clear();
    this.#waiting = [];
    this.#openCalls = this.#openBytes = 0;
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const isOver =
        this.#openCalls >= this.#maxCalls || this.#openBytes + next.sizeBytes > this.#maxBytes;
      // One that is larger than all credits goes alone, for the server to refuse.
      if (isOver && this.#openCalls > 0) {
        return;
      }
      this.#waiting.shift();
      this.#openCalls += 1;
      this.#openBytes += next.sizeBytes;
      const key = keyOf(next.call);
      this.#open.set(key, [...(this.#open.get(key) ?? []), next]);
      this.#sender.send(next.frame, next.place);
      next.frame = new Uint8Array(); // the link keeps it
      if (next.isCancelled) {
        this.#sender.cancel(next.call).catch(() => undefined); // the call itself says it
      }
    }
  }

  #cancelWith(signal: AbortSignal | undefined, open: OpenCall, outcome: Promise<Outcome>): void {
    const cancel = () => {
      if (this.#waiting.includes(open)) {
        open.isCancelled = true;
      } else {
        this.#sender.cancel(open.call).catch(() => undefined); // the call itself says it
      }
    };
    const release = () => signal?.removeEventListener("abort", cancel);
    if (signal !== undefined) {
      setMaxListeners(0, signal); // a whole turn's calls may hang on it
      signal.addEventListener("abort", cancel, { once: true });
    }
    outcome.then(release, release);
  }

  #release(open: OpenCall): void {
    this.#openCalls -= 1;
    this.#openBytes -= open.sizeBytes;
  }

  #replace(key: string, calls: OpenCall[]): void {
    if (calls.length > 0) {
      this.#open.set(key, calls);
    } else {
      this.#open.delete(key);
    }
  }
}

/** The error of a frame that the server would not take. */
export function tooLarge(sizeBytes: number, limitBytes: number): RefusedError {
  return new RefusedError(
    "MESSAGE_TOO_LARGE",
    `MESSAGE_TOO_LARGE: a frame of ${sizeBytes} bytes is above the limit of ${limitBytes}; send less`,
  );
}

function partition<T>(items: readonly T[], belongs: (item: T) => boolean): [T[], T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}

function sameBytes(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return other !== undefined && Buffer.compare(one, other) === 0;
}
