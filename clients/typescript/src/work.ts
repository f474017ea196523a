/** The handlers and hooks that run now: started, told to stop, and answered for. */
import { type CallReference, keyOf, keyOfName, readCall, readReference } from "./call.js";
import { milliseconds } from "./durations.js";
import { abortReasons, hookPoints } from "./enums.js";
import {
  CallAbortedError,
  FatalError,
  type RefusedError,
  RespondToModelError,
  SidecallError,
  textOf,
} from "./errors.js";
import {
  type AbortHandler,
  ClientFrame,
  type FrameError,
  HandlerResult,
  type InvokeHandler,
  type InvokeHook,
} from "./gen/sidecall/v1/runtime_stream.js";
import { askHooks, combine, type Hook, matches } from "./hook.js";
import { Place } from "./link.js";
import { readQuestion } from "./outcome.js";
import { wireOutput } from "./output.js";
import { tooLarge } from "./pending.js";
import { Invocation, type Tool, type ToolTable } from "./tool.js";

/** What becomes of something thrown that a handler did not map (SPEC G7). */
export type UnhandledErrors = "fatal" | "respond_to_model";

type Result = NonNullable<HandlerResult["result"]>;

interface Running {
  token: Buffer;
  call: CallReference;
  abort: AbortController;
  /** Undefined for hooks. */
  place: Place | undefined;
  waitsForTeardown: boolean;
  hasEnded: boolean;
  callHasEnded: boolean;
  /** Its result was refused, and another one was sent. */
  isAnsweredAnew: boolean;
}

/** What the work needs of its agent. */
export interface WorkPlace {
  readonly unhandledErrors: UnhandledErrors;
  tools(): ToolTable;
  hooks(): readonly Hook[];
  /** Bytes of a frame that the server takes. */
  maxFrameBytes(): number;
  /** Sends an answer. */
  send(frame: Uint8Array, place?: Place): void;
  /** A handler's result of so many bytes goes out. */
  answered(call: CallReference, sizeBytes: number): void;
  /** Something went wrong that nobody waits for. */
  report(error: SidecallError): void;
}

/** Runs what the server asks for; never holds up who reads the stream. */
export class Work {
  readonly #place: WorkPlace;
  /** By token, until the call has its outcome and the handler has ended. */
  readonly #running = new Map<string, Running>();
  readonly #unfinished = new Set<Promise<void>>();

  constructor(place: WorkPlace) {
    this.#place = place;
  }

  /** Starts a handler; one that is known is not started again. */
  invokeHandler(frame: InvokeHandler): void {
    const call = readCall(frame.call);
    const running = this.#start(frame.invocationToken, call, new Place());
    if (running !== undefined) {
      const invocation = new Invocation(
        call,
        frame.rewritten,
        Number(frame.dispatchOrder),
        running.abort.signal,
      );
      this.#follow(this.#handle(invocation).then((result) => this.#handlerEnded(running, result)));
    }
  }

  /** Asks the hooks that match; those that are known are not asked again. */
  invokeHook(frame: InvokeHook): void {
    const running = this.#start(frame.hookToken, readReference(frame.call), undefined);
    if (running === undefined) {
      return;
    }
    const point = hookPoints.plain(frame.point);
    const question = readQuestion(frame.call, point, frame.payload);
    const hooks = this.#place.hooks().filter((hook) => matches(hook, question));
    const { signal } = running.abort;
    this.#follow(
      askHooks(hooks, question, signal, milliseconds(frame.timeout)).then((answers) => {
        for (const { failure } of answers) {
          if (failure !== undefined && !signal.aborted) {
            this.#place.report(
              new SidecallError(`a hook for ${question.payload.toolName} failed: ${failure}`),
            );
          }
        }
        if (!signal.aborted) {
          const value = { ...combine(point, answers), hookToken: frame.hookToken };
          this.#place.send(ClientFrame.encode({ frame: { $case: "hookVerdict", value } }).finish());
        }
        this.#ended(running);
      }),
    );
  }

  /** Tells a handler or hook to stop. */
  abortHandler(frame: AbortHandler): void {
    const running = this.#running.get(frame.token.toString("latin1"));
    if (running === undefined && frame.waitForTeardown) {
      this.#tornDown(frame.token); // nothing of it runs here: another agent had started it
    }
    if (running === undefined || running.hasEnded) {
      return;
    }
    running.waitsForTeardown ||= frame.waitForTeardown;
    running.abort.abort(
      new CallAbortedError(
        abortReasons.plain(frame.reason),
        frame.waitForTeardown,
        milliseconds(frame.teardownTimeout),
      ),
    );
  }

  /** Forgets the work of a call that has its outcome, as soon as it has ended. */
  callEnded(call: CallReference): void {
    const key = keyOf(call);
    for (const running of [...this.#running.values()]) {
      if (keyOf(running.call) === key) {
        running.callHasEnded = true;
        running.abort.abort(new CallAbortedError("cancelled"));
        this.#forget(running);
      }
    }
  }

  /** Answers anew for handlers whose results were refused, so that their calls end. */
  refused(frame: FrameError, error: RefusedError): boolean {
    const refused = [...this.#running.values()].filter(({ place }) => place?.covers(frame));
    for (const running of refused) {
      const { callId } = running.call;
      this.#place.report(
        new SidecallError(`the result of ${callId} was refused: ${error.message}`, {
          cause: error,
        }),
      );
      if (!running.isAnsweredAnew) {
        running.isAnsweredAnew = true;
        this.#answer(running, unhandled(error));
      }
    }
    return refused.length > 0;
  }

  /** Tells everything to stop: the session is gone. */
  stop(): void {
    for (const { abort } of this.#running.values()) {
      abort.abort(new CallAbortedError("session_lost"));
    }
    this.#running.clear();
  }

  /** Resolves when everything that was started has ended. */
  async finished(): Promise<void> {
    await Promise.all(this.#unfinished);
  }

  #start(token: Buffer, call: CallReference, place: Place | undefined): Running | undefined {
    const key = token.toString("latin1");
    if (this.#running.has(key)) {
      return undefined;
    }
    const running: Running = {
      token,
      call: { turnId: call.turnId, callId: call.callId },
      abort: new AbortController(),
      place,
      waitsForTeardown: false,
      hasEnded: false,
      callHasEnded: false,
      isAnsweredAnew: false,
    };
    this.#running.set(key, running);
    return running;
  }

  #follow(work: Promise<void>): void {
    this.#unfinished.add(work);
    void work.finally(() => this.#unfinished.delete(work));
  }

  async #handle(invocation: Invocation): Promise<Result> {
    const tool = this.#place.tools().get(keyOfName(invocation.call));
    try {
      const output = await required(tool, invocation).handler(invocation);
      if (output === undefined || output === null) {
        throw new SidecallError("the handler returned no output");
      }
      return { $case: "output", value: wireOutput(output) };
    } catch (thrown) {
      return this.#failure(thrown);
    }
  }

  #failure(thrown: unknown): Result {
    if (thrown instanceof RespondToModelError) {
      return { $case: "respondToModel", value: { message: Buffer.from(thrown.message) } };
    }
    if (thrown instanceof FatalError) {
      return { $case: "fatal", value: { message: Buffer.from(thrown.message) } };
    }
    return this.#place.unhandledErrors === "respond_to_model"
      ? { $case: "respondToModel", value: { message: Buffer.from(textOf(thrown)) } }
      : unhandled(thrown);
  }

  #handlerEnded(running: Running, result: Result): void {
    if (!running.callHasEnded) {
      if (!running.abort.signal.aborted) {
        this.#answer(running, result);
      } else if (running.waitsForTeardown) {
        this.#tornDown(running.token);
      }
    }
    this.#ended(running);
  }

  #tornDown(invocationToken: Buffer): void {
    const value = { invocationToken };
    this.#place.send(ClientFrame.encode({ frame: { $case: "teardownComplete", value } }).finish());
  }

  #answer(running: Running, result: Result): void {
    const limit = this.#place.maxFrameBytes();
    let frame = handlerResult(running.token, result);
    if (frame.length > limit) {
      frame = handlerResult(running.token, unhandled(tooLarge(frame.length, limit)));
    }
    this.#place.answered(running.call, frame.length);
    this.#place.send(frame, running.place);
  }

  #ended(running: Running): void {
    running.hasEnded = true;
    this.#forget(running);
  }

  #forget(running: Running): void {
    if (running.hasEnded && running.callHasEnded) {
      this.#running.delete(running.token.toString("latin1"));
    }
  }
}

function required(tool: Tool | undefined, { call }: Invocation): Tool {
  if (tool === undefined) {
    throw new SidecallError(`the agent has no handler for ${call.namespace ?? ""}${call.name}`);
  }
  return tool;
}

function unhandled(thrown: unknown): Result {
  return { $case: "unhandledError", value: { message: Buffer.from(textOf(thrown)) } };
}

function handlerResult(invocationToken: Buffer, result: Result): Uint8Array {
  const value = HandlerResult.create({ invocationToken, result });
  return ClientFrame.encode({ frame: { $case: "handlerResult", value } }).finish();
}
