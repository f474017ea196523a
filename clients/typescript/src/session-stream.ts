/** The stream of a session across its connections: attached, resumed, left, or lost for good. */
import type { SidecallClient } from "./client.js";
import { Connection } from "./connection.js";
import { milliseconds } from "./durations.js";
import { RefusedError, SessionLostError } from "./errors.js";
import {
  ClientFrame,
  type Hello,
  ResumeOutcome,
  type ServerFrame,
  type Welcome,
} from "./gen/sidecall/v1/runtime_stream.js";
import { type Lane, Link, type Place } from "./link.js";
import { reattach } from "./reattach.js";

/** The version of the protocol that the stream speaks. */
const PROTOCOL_VERSION = 1;
/** The server learns of a lost connection later than the agent does, in milliseconds. */
const GRACE_MARGIN_MS = 5000;

/** A session that exists, and the secret that attaches to it. */
export interface SessionKey {
  sessionId: string;
  resumeToken: string;
}

/** What an agent says of itself, and what it hears. */
export interface StreamListener {
  /** What is declared right now; said with each connection. */
  declarations(): Pick<Hello, "tools" | "hooks" | "options" | "clientName">;
  /** A connection begins; before any of its frames. */
  welcomed(welcome: Welcome): void;
  /** A frame that was not seen before. What is thrown ends the session as a fault of its own. */
  received(frame: ServerFrame): void;
  /** The session was left or lost; nothing comes after it. */
  ended(error: SessionLostError): void;
}

/** Keeps one session attached. */
export class SessionStream {
  /** Resolves with why the stream has ended: it was left (DETACHED), or the session was lost. */
  readonly ended: Promise<SessionLostError>;
  readonly #client: SidecallClient;
  readonly #listener: StreamListener;
  readonly #link = new Link();
  readonly #abandon = new AbortController();
  #key: SessionKey;
  #instanceId: string | undefined;
  #connection: Connection | undefined;
  #isDetaching = false;
  #lost: SessionLostError | undefined;
  #resolveEnded: (error: SessionLostError) => void = () => undefined;

  constructor(client: SidecallClient, listener: StreamListener, key?: SessionKey) {
    this.#client = client;
    this.#listener = listener;
    this.#key = key ?? { sessionId: "", resumeToken: "" };
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /**
   * Attaches for the first time.
   *
   * @throws RefusedError when the server cannot be reached, or refuses.
   */
  async open(): Promise<void> {
    const connection = this.#connect();
    await connection.opened;
    void this.#keep(connection);
  }

  /** The session, and what attaches to it. */
  get key(): SessionKey {
    return this.#key;
  }

  /** Bytes of a frame that the server takes. */
  get maxFrameBytes(): number {
    return this.#link.maxFrameBytes;
  }

  /** The server has read everything, as far as it has said so. */
  get isIdle(): boolean {
    return this.#link.isIdle;
  }

  /** Why nothing can be said any more; undefined while it can. */
  get gone(): SessionLostError | undefined {
    return this.#lost ?? (this.#isDetaching ? new SessionLostError("DETACHED") : undefined);
  }

  /** Sends a serialised frame, now or after the connection is back. */
  send(frame: Uint8Array, lane: Lane, place?: Place): void {
    if (this.#lost === undefined) {
      this.#link.send(frame, lane, place);
      this.#connection?.wake();
    }
  }

  /** Breaks the connection, as a fault of the network would. */
  drop(
    cause: unknown = new RefusedError("UNAVAILABLE", "the connection was dropped on purpose"),
  ): void {
    this.#connection?.cut(cause);
  }

  /** Leaves, after everything that was sent; the signal makes it leave without an answer. */
  async leave(closeSession: boolean, signal: AbortSignal): Promise<void> {
    if (this.gone === undefined) {
      const frame = ClientFrame.encode({ frame: { $case: "detach", value: { closeSession } } });
      this.send(frame.finish(), "farewell");
      this.#isDetaching = true;
    }
    signal.addEventListener("abort", () => {
      this.#abandon.abort();
      this.drop();
    });
    await this.ended;
  }

  #connect(): Connection {
    const hello: Hello = {
      protocolVersions: [PROTOCOL_VERSION],
      ...this.#key,
      lastSequenceReceived: this.#link.lastReceived,
      ...this.#listener.declarations(),
    };
    const { client, metadata } = this.#client.stream;
    this.#connection = new Connection(client, metadata, this.#link, hello, {
      welcomed: (welcome) => this.#welcomed(welcome),
      received: (frame) => this.#listener.received(frame),
    });
    return this.#connection;
  }

  /** Comes back after lost connections until the session ends. */
  async #keep(first: Connection): Promise<void> {
    let connection = first;
    for (;;) {
      const cause = await connection.closed;
      if (this.#isDetaching && (cause === undefined || this.#link.isIdle)) {
        return this.#lose(new SessionLostError("DETACHED"));
      }
      try {
        const graceMs = milliseconds((await connection.opened).resumeGrace) ?? 0;
        connection = await reattach(
          () => this.#connect(),
          cause,
          graceMs + GRACE_MARGIN_MS,
          this.#abandon.signal,
        );
      } catch (error) {
        return this.#lose(error as SessionLostError); // `reattach` throws nothing else
      }
    }
  }

  /** Another start of the server knows nothing of the session, even where it knows its id. */
  #welcomed(welcome: Welcome): void {
    const isFirst = this.#instanceId === undefined;
    if (!isFirst && this.#instanceId !== welcome.serverInstanceId) {
      throw new SessionLostError("SERVER_RESTARTED");
    }
    this.#instanceId = welcome.serverInstanceId;
    this.#key = { sessionId: welcome.sessionId, resumeToken: welcome.resumeToken };
    if (!isFirst && welcome.resumeOutcome === ResumeOutcome.RESUME_OUTCOME_NEW) {
      welcome.resumeOutcome = ResumeOutcome.RESUME_OUTCOME_RESUMED; // nothing had been said yet
    }
    this.#listener.welcomed(welcome);
  }

  #lose(error: SessionLostError): void {
    this.#lost = error;
    this.#listener.ended(error);
    this.#resolveEnded(error);
  }
}
