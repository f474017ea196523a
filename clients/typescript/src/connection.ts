/** One gRPC stream of an agent: the greeting, the writer, heartbeats, and how it ended. */
import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import { milliseconds } from "./durations.js";
import { errorOfStatus, RefusedError } from "./errors.js";
import { RuntimeServiceService } from "./gen/sidecall/v1/runtime_service.js";
import {
  ConnectResponse,
  type Hello,
  type ServerFrame,
  type Welcome,
} from "./gen/sidecall/v1/runtime_stream.js";
import { type Link, ProtocolError } from "./link.js";

/** How long a server may take to answer Hello, in milliseconds. */
const WELCOME_TIMEOUT_MS = 20_000;
/** Used where the server names no times, in milliseconds. */
const DEFAULT_HEARTBEAT_INTERVAL_MS = 15_000;
const DEFAULT_HEARTBEAT_TIMEOUT_MS = 45_000;

/** What comes of a connection. What a callback throws ends the connection. */
export interface ConnectionListener {
  /** The server answered Hello; before any frame. */
  welcomed(welcome: Welcome): void;
  /** A frame that was not seen before. */
  received(frame: ServerFrame): void;
}

interface Received {
  message: ConnectResponse;
  sizeBytes: number;
}

/** Reads and writes for a link, until it ends. */
export class Connection {
  /** The server's answer to Hello; rejects when the connection ends without. */
  readonly opened: Promise<Welcome>;
  /** Resolves with why the connection ended; undefined: the server ended it well. */
  readonly closed: Promise<unknown>;
  readonly #link: Link;
  readonly #listener: ConnectionListener;
  readonly #stream: ClientDuplexStream<Uint8Array, Received>;
  #welcome: Welcome | undefined;
  #cause: unknown;
  #isOpen = true;
  #isBlocked = false;
  #isScheduled = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout;

  /** Opens a stream on a channel and says Hello. */
  constructor(
    client: Client,
    metadata: Metadata,
    link: Link,
    hello: Hello,
    listener: ConnectionListener,
  ) {
    this.#link = link;
    this.#listener = listener;
    this.#stream = client.makeBidiStreamRequest<Uint8Array, Received>(
      RuntimeServiceService.connect.path,
      (message) => Buffer.from(message.buffer, message.byteOffset, message.byteLength),
      (bytes) => ({ message: ConnectResponse.decode(bytes), sizeBytes: bytes.length }),
      metadata,
    );
    this.#silence = this.#cutAfter(WELCOME_TIMEOUT_MS, "the sidecar did not answer Hello in time");
    this.closed = new Promise((resolve) => {
      this.#stream.on("error", (error) => resolve(this.#ended(errorOfStatus(error))));
      this.#stream.once("end", () => resolve(this.#ended(undefined)));
    });
    this.opened = new Promise((resolve, reject) => {
      this.#stream.on("data", (received: Received) => {
        try {
          this.#read(received);
          if (this.#welcome !== undefined) {
            resolve(this.#welcome);
          }
        } catch (fault) {
          this.cut(fault);
        }
      });
      void this.closed.then((cause) =>
        reject(cause ?? new ProtocolError("the stream ended before Welcome")),
      );
    });
    this.opened.catch(() => undefined); // whoever needs it asks
    this.#stream.write(link.unnumbered({ $case: "hello", value: hello }));
  }

  /** The link has something to write. Frames that are ready by the next tick go together. */
  wake(): void {
    if (!this.#isScheduled && !this.#isBlocked && this.#welcome !== undefined && this.#isOpen) {
      this.#isScheduled = true;
      setImmediate(() => this.#write());
    }
  }

  /** Ends the stream as a broken network would; `closed` gives the cause. */
  cut(cause: unknown): void {
    this.#cause ??= cause;
    this.#stream.cancel();
  }

  #read({ message, sizeBytes }: Received): void {
    if (!this.#isOpen || this.#cause !== undefined) {
      return;
    }
    this.#silence.refresh();
    if (this.#welcome === undefined) {
      this.#greeted(message);
    }
    for (const frame of this.#link.receive(message, sizeBytes)) {
      if (frame.frame?.$case !== "welcome") {
        this.#listener.received(frame);
      }
    }
    this.wake(); // an acknowledgement may be due
  }

  #greeted(message: ConnectResponse): void {
    const first = message.frames[0]?.frame;
    if (first?.$case !== "welcome") {
      throw new ProtocolError("the server did not begin with Welcome");
    }
    const welcome = first.value;
    this.#link.welcomed(welcome);
    clearTimeout(this.#silence);
    this.#silence = this.#cutAfter(
      milliseconds(welcome.heartbeatTimeout) || DEFAULT_HEARTBEAT_TIMEOUT_MS,
      "nothing was heard from the sidecar for too long",
    );
    this.#heartbeat = setInterval(
      () => this.#stream.write(this.#link.unnumbered({ $case: "heartbeat", value: {} })),
      milliseconds(welcome.heartbeatInterval) || DEFAULT_HEARTBEAT_INTERVAL_MS,
    );
    this.#welcome = welcome;
    this.#listener.welcomed(welcome);
  }

  #write(): void {
    this.#isScheduled = false;
    while (this.#isOpen && !this.#isBlocked) {
      const message = this.#link.nextMessage();
      if (message === undefined) {
        return;
      }
      this.#heartbeat?.refresh();
      if (!this.#stream.write(message)) {
        this.#isBlocked = true;
        this.#stream.once("drain", () => {
          this.#isBlocked = false;
          this.wake();
        });
      }
    }
  }

  #ended(cause: unknown): unknown {
    this.#isOpen = false;
    clearTimeout(this.#silence);
    clearInterval(this.#heartbeat);
    return this.#cause ?? cause;
  }

  #cutAfter(timeoutMs: number, message: string): NodeJS.Timeout {
    return setTimeout(() => this.cut(new RefusedError("UNAVAILABLE", message)), timeoutMs);
  }
}
