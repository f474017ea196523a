/** An agent: a session with the tools and hooks of this process attached to it. */
import { once } from "node:events";
import {
  type CallReference,
  keyOf,
  readReference,
  type ToolCall,
  type ToolName,
  wireReference,
  wireToolName,
} from "./call.js";
import { SidecallClient } from "./client.js";
import { milliseconds } from "./durations.js";
import type { EndpointOptions } from "./endpoint.js";
import { type ResumeOutcome, resumeOutcomes, type ToolMode, toolModes } from "./enums.js";
import { errorOfFrame, type SessionLostError, type SidecallError } from "./errors.js";
import {
  ClientFrame,
  type FrameError,
  ResumeOutcome as Resume,
  type ServerFrame,
  type Welcome,
} from "./gen/sidecall/v1/runtime_stream.js";
import { declareHook, type Hook } from "./hook.js";
import { type SessionOptions, wireSessionOptions } from "./options.js";
import { type DispatchOptions, type PendingCall, PendingCalls } from "./pending.js";
import type { Attachment, AttachRequest } from "./recorder.js";
import { Requests } from "./requests.js";
import type { CancelledCall, CancelTarget } from "./session.js";
import { type SessionKey, SessionStream } from "./session-stream.js";
import { changedTools, declareTool, type Tool, type ToolTable, toolTable } from "./tool.js";
import { Turn } from "./turn.js";
import { type UnhandledErrors, Work } from "./work.js";

/** How long leaving takes at most, in milliseconds. */
const DETACH_TIMEOUT_MS = 5000;
/** Refusals of a message that the server did not read. */
const UNREAD_REASONS: ReadonlySet<string> = new Set([
  "SEQUENCE_OUT_OF_ORDER",
  "ACKNOWLEDGEMENT_OUT_OF_RANGE",
]);

/** What an agent brings along. */
export interface AgentOptions {
  /** Where the sidecar is. Absent: what `SIDECALL_ENDPOINT` says, else the default socket. */
  endpoint?: EndpointOptions | string | undefined;
  tools?: readonly Tool[] | undefined;
  /** The hooks, in the order in which their answers count. */
  hooks?: readonly Hook[] | undefined;
  /** The options of a new session. */
  session?: SessionOptions | undefined;
  /** Attaches to a session that exists, in place of a new one. */
  attachTo?: SessionKey | undefined;
  /** The agent's name and version, for people. */
  clientName?: string | undefined;
  /** Gives the first connection up; afterwards it counts no more. */
  signal?: AbortSignal | undefined;
  /** What becomes of something thrown that a handler did not map. Absent: it ends the turn. */
  unhandledErrors?: UnhandledErrors | undefined;
  /** Hears how each attachment to the session began. */
  onConnection?: ((began: ResumeOutcome) => void) | undefined;
  /** Hears that the server shuts down, and how long open calls may go on, in milliseconds. */
  onDrain?: ((timeLeftMs: number) => void) | undefined;
  /** Hears of refused frames and failed hooks that nobody waits for. Absent: a warning. */
  onError?: ((error: SidecallError) => void) | undefined;
}

/** How long leaving may take. */
export interface DetachOptions {
  /** How long to wait for the server, and for handlers to end. Absent: 5 s. */
  timeoutMs?: number | undefined;
}

/** A session and its stream. `Agent.connect` makes it. */
export class Agent {
  /** The unary requests, over the same channel. */
  readonly client: SidecallClient;
  readonly #options: AgentOptions;
  readonly #stream: SessionStream;
  readonly #calls: PendingCalls;
  readonly #work: Work;
  readonly #requests: Requests;
  #tools: ToolTable;
  #hooks: readonly Hook[];
  #effectiveToolMode: ToolMode = "direct";

  /**
   * Opens a session, or attaches to the one that is named.
   *
   * @throws RefusedError when the sidecar cannot be reached (UNAVAILABLE), or refuses.
   */
  static async connect(options: AgentOptions = {}): Promise<Agent> {
    const { signal } = options;
    signal?.throwIfAborted();
    const client = new SidecallClient(options.endpoint);
    const agent = new Agent(client, options);
    const giveUp = () => agent.#stream.drop(signal?.reason);
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      await agent.#stream.open();
    } catch (error) {
      client.close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
    return agent;
  }

  private constructor(client: SidecallClient, options: AgentOptions) {
    this.client = client;
    this.#options = options;
    this.#tools = toolTable(options.tools ?? []);
    this.#hooks = options.hooks ?? [];
    this.#stream = new SessionStream(
      client,
      {
        declarations: () => ({
          options: wireSessionOptions(options.session ?? {}),
          tools: [...this.#tools.values()].map(declareTool),
          hooks: this.#hooks.map(declareHook),
          clientName: options.clientName ?? "sidecall-typescript",
        }),
        welcomed: (welcome) => this.#welcomed(welcome),
        received: (frame) => this.#received(frame),
        ended: (error) => this.#lose(error),
      },
      options.attachTo,
    );
    this.#requests = new Requests((frame, place) =>
      this.#stream.send(ClientFrame.encode({ frame }).finish(), "ordered", place),
    );
    this.#calls = new PendingCalls({
      send: (frame, place) => this.#stream.send(frame, "ordered", place),
      cancel: async (call) => (await this.cancel({ calls: [call] }))[0]?.disposition ?? "unknown",
    });
    this.#work = new Work({
      tools: () => this.#tools,
      hooks: () => this.#hooks,
      unhandledErrors: options.unhandledErrors ?? "fatal",
      maxFrameBytes: () => this.#stream.maxFrameBytes,
      send: (frame, place) => this.#stream.send(frame, "answers", place),
      answered: (call, sizeBytes) => this.#calls.answered(call, sizeBytes),
      report: (error) => this.#report(error),
    });
  }

  get sessionId(): string {
    return this.#stream.key.sessionId;
  }

  /** What attaches another agent to the session, as it is now. Keep it secret. */
  get key(): SessionKey {
    return this.#stream.key;
  }

  /** Resolves with why the agent has ended: it left (DETACHED), or the session was lost. */
  get ended(): Promise<SessionLostError> {
    return this.#stream.ended;
  }

  /** The session's tool mode, as the server decided it. */
  get effectiveToolMode(): ToolMode {
    return this.#effectiveToolMode;
  }

  // --- calls ---

  /**
   * Submits a call; it is recorded before anything else happens to it. Calls are sent in the
   * order of their dispatch; beyond what the server grants they wait here until others have
   * ended. The same call again (turn id, call id, payload) runs nothing: it ends as the first.
   */
  dispatch(call: ToolCall, options: DispatchOptions = {}): PendingCall {
    return this.#calls.dispatch(call, options, this.#stream.gone);
  }

  /** A turn, to dispatch calls in and to have their outputs in call order. */
  turn(turnId: string): Turn {
    return new Turn(this, turnId);
  }

  /**
   * Cancels calls. One that has ended or never was is no error: the result says so. Handlers
   * are told by their signals.
   *
   * @throws SessionLostError when the session is gone.
   */
  async cancel(target: CancelTarget): Promise<CancelledCall[]> {
    this.#requireSession();
    const local = this.#calls
      .cancelWaiting(named(target))
      .map((call): CancelledCall => ({ ...call, disposition: "accepted" }));
    const sent = new Set(local.map(keyOf));
    const rest =
      "calls" in target ? { calls: target.calls.filter((call) => !sent.has(keyOf(call))) } : target;
    return this.#requests.cancel(rest, local);
  }

  /**
   * Ends a turn: it takes no new calls, open ones go on. Resolves when the server has it.
   *
   * @throws SessionLostError when the session is gone.
   */
  endTurn(turnId: string): Promise<void> {
    return this.#notify({ $case: "endTurn", value: { turnId } });
  }

  // --- recorder ---

  /**
   * Says which call's output carries the records of a code-mode cell: `exec`'s as soon as the
   * cell has started and before its first nested call, `wait`'s after the cell answered it.
   * Resolves when the server has it.
   *
   * @throws RefusedError, SessionLostError
   */
  registerCell(cellId: string, outputCall: CallReference): Promise<void> {
    const value = { cellId, outputCall: wireReference(outputCall) };
    return this.#notify({ $case: "registerCell", value });
  }

  /**
   * Attaches records to the outputs of a prompt, after everything that was said before; see
   * `SidecallClient.attach`.
   *
   * @throws RefusedError, SessionLostError
   */
  async attach(request: AttachRequest): Promise<Attachment[]> {
    this.#requireSession();
    if (!this.#stream.isIdle) {
      await this.#requests.barrier();
    }
    return this.client.attach(this.sessionId, request);
  }

  // --- declarations ---

  /**
   * Adds and replaces tools by name, and takes some away; `hooks` take the place of those
   * before. Calls that run are not touched, calls that wait for a tool go on as it changes.
   * Resolves when the server has it.
   *
   * @throws RefusedError when it is refused and nothing has changed; SessionLostError
   */
  async updateTools(update: {
    upsert?: readonly Tool[];
    remove?: readonly ToolName[];
    hooks?: readonly Hook[];
  }): Promise<void> {
    const { upsert = [], remove = [], hooks } = update;
    const before = { tools: this.#tools, hooks: this.#hooks };
    this.#tools = changedTools(this.#tools, upsert, remove);
    this.#hooks = hooks ?? this.#hooks;
    const value = {
      upsert: upsert.map(declareTool),
      remove: remove.map(wireToolName),
      hooks: hooks && { hooks: hooks.map(declareHook) },
    };
    try {
      await this.#notify({ $case: "updateTools", value });
    } catch (error) {
      this.#tools = before.tools;
      this.#hooks = before.hooks;
      throw error;
    }
  }

  // --- life ---

  /**
   * Breaks the connection, as a fault of the network would; the agent resumes by itself. It is
   * there to prove that.
   */
  dropConnection(): void {
    this.#stream.drop();
  }

  /**
   * Leaves: open calls are aborted, handlers are told to stop and are waited for. The session
   * stays, and so does `client`, for unary requests.
   */
  async detach(options: DetachOptions = {}): Promise<void> {
    await this.#leave(false, options);
  }

  /** Leaves, ends the session, and closes `client`. */
  async close(options: DetachOptions = {}): Promise<void> {
    await this.#leave(true, options);
    this.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #leave(closeSession: boolean, { timeoutMs = DETACH_TIMEOUT_MS }: DetachOptions) {
    const overdue = new AbortController();
    const isOverdue = once(overdue.signal, "abort");
    const timer = setTimeout(() => overdue.abort(), timeoutMs);
    try {
      await this.#stream.leave(closeSession, overdue.signal);
      await Promise.race([this.#work.finished(), isOverdue]);
    } finally {
      clearTimeout(timer);
    }
  }

  // --- what comes in ---

  #welcomed(welcome: Welcome): void {
    this.#effectiveToolMode = toolModes.plain(welcome.effectiveToolMode);
    this.#tell(this.#options.onConnection, resumeOutcomes.plain(welcome.resumeOutcome));
    if (welcome.resumeOutcome === Resume.RESUME_OUTCOME_GAP) {
      this.#requests.askAgain();
    }
    this.#calls.welcomed(welcome);
  }

  #received({ frame }: ServerFrame): void {
    switch (frame?.$case) {
      case "invokeHandler":
        this.#work.invokeHandler(frame.value);
        break;
      case "invokeHook":
        this.#work.invokeHook(frame.value);
        break;
      case "abortHandler":
        this.#work.abortHandler(frame.value);
        break;
      case "callCompleted":
        this.#calls.completed(frame.value);
        this.#work.callEnded(readReference(frame.value.call));
        break;
      case "cancelResult":
        this.#requests.cancelled(frame.value);
        break;
      case "frameError":
        this.#refused(frame.value);
        break;
      case "drain":
        this.#tell(this.#options.onDrain, milliseconds(frame.value.timeLeft) ?? 0);
        break;
    }
  }

  #refused(frame: FrameError): void {
    const error = errorOfFrame(frame);
    if (frame.frameIndex === undefined && UNREAD_REASONS.has(error.reason)) {
      this.#stream.drop(error); // a new connection sends the message again
      return;
    }
    const isHeard = [this.#calls, this.#work, this.#requests].map((waiting) =>
      waiting.refused(frame, error),
    );
    if (!isHeard.includes(true)) {
      this.#report(error);
    }
  }

  #lose(error: SessionLostError): void {
    this.#calls.fail(error);
    this.#requests.fail(error);
    this.#work.stop();
  }

  /** Sends a frame that has no answer, and waits until the server has read it. */
  async #notify(frame: NonNullable<ClientFrame["frame"]>): Promise<void> {
    this.#requireSession();
    await this.#requests.notify(frame);
  }

  #requireSession(): void {
    const gone = this.#stream.gone;
    if (gone !== undefined) {
      throw gone;
    }
  }

  #report(error: SidecallError): void {
    this.#tell(this.#options.onError ?? ((told) => process.emitWarning(told)), error);
  }

  /** Calls back from outside: what a callback throws is its owner's, and no fault of the stream. */
  #tell<T>(callback: ((value: T) => void) | undefined, value: T): void {
    if (callback !== undefined) {
      queueMicrotask(() => callback(value));
    }
  }
}

function named(target: CancelTarget): (call: CallReference) => boolean {
  if ("all" in target) {
    return () => true;
  }
  if ("turnId" in target) {
    return (call) => call.turnId === target.turnId;
  }
  const keys = new Set(target.calls.map(keyOf));
  return (call) => keys.has(keyOf(call));
}
