/** What an agent says that is answered, or may be refused: cancels and notices. */
import type { RefusedError } from "./errors.js";
import type { CancelResult, ClientFrame, FrameError } from "./gen/sidecall/v1/runtime_stream.js";
import { Place } from "./link.js";
import { type CancelledCall, type CancelTarget, readCancelled, wireTarget } from "./session.js";
import { withResolvers } from "./with-resolvers.js";

type Frame = NonNullable<ClientFrame["frame"]>;

interface WaitingCancel {
  frame: Frame;
  place: Place;
  /** Calls that still waited here. */
  local: readonly CancelledCall[];
  resolve(cancelled: CancelledCall[]): void;
  reject(error: unknown): void;
}

interface Notice {
  place: Place;
  refusal?: RefusedError;
}

/** What waits for its answer. */
export class Requests {
  readonly #send: (frame: Frame, place: Place) => void;
  readonly #cancels = new Map<bigint, WaitingCancel>();
  readonly #notices = new Set<Notice>();
  #lastCancelId = 0n;

  constructor(send: (frame: Frame, place: Place) => void) {
    this.#send = send;
  }

  /** Cancels calls, and answers for those that were never sent. */
  cancel(target: CancelTarget, local: readonly CancelledCall[] = []): Promise<CancelledCall[]> {
    this.#lastCancelId += 1n;
    const cancelId = this.#lastCancelId;
    const { promise, resolve, reject } = withResolvers<CancelledCall[]>();
    const frame: Frame = {
      $case: "cancelCalls",
      value: { cancelId, target: wireTarget(target) },
    };
    const place = new Place();
    this.#cancels.set(cancelId, { frame, place, local, resolve, reject });
    this.#send(frame, place);
    return promise;
  }

  /**
   * Sends a frame that has no answer, and waits until the server has read it.
   *
   * @throws RefusedError when it is refused.
   */
  async notify(frame: Frame): Promise<void> {
    const notice: Notice = { place: new Place() };
    this.#notices.add(notice);
    try {
      this.#send(frame, notice.place);
      await this.barrier();
    } finally {
      this.#notices.delete(notice);
    }
    if (notice.refusal !== undefined) {
      throw notice.refusal;
    }
  }

  /** Waits until the server has read what was said: it answers a cancel of no calls in order. */
  async barrier(): Promise<void> {
    await this.cancel({ calls: [] });
  }

  /** A gap may have swallowed answers: asks again, which changes nothing. */
  askAgain(): void {
    for (const { frame, place } of this.#cancels.values()) {
      this.#send(frame, place);
    }
  }

  cancelled({ cancelId, calls }: CancelResult): void {
    const waiting = this.#cancels.get(cancelId);
    this.#cancels.delete(cancelId);
    waiting?.resolve([...readCancelled(calls), ...waiting.local]);
  }

  /** Tells whom a frame error concerns. False: nobody here. */
  refused(frame: FrameError, error: RefusedError): boolean {
    const notices = [...this.#notices].filter(({ place }) => place.covers(frame));
    for (const notice of notices) {
      notice.refusal = error;
    }
    const cancels = [...this.#cancels].filter(([, { place }]) => place.covers(frame));
    for (const [cancelId, waiting] of cancels) {
      this.#cancels.delete(cancelId);
      waiting.reject(error);
    }
    return notices.length + cancels.length > 0;
  }

  /** The session is gone. */
  fail(error: unknown): void {
    for (const waiting of this.#cancels.values()) {
      waiting.reject(error);
    }
    this.#cancels.clear();
  }
}
