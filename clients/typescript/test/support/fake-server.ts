/** A RuntimeService whose test says every word of it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Server, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
import { Mailbox } from "../../conformance/mailboxes.js";
import { ErrorReason } from "../../src/gen/sidecall/v1/errors.js";
import { RuntimeServiceService } from "../../src/gen/sidecall/v1/runtime_service.js";
import {
  type ClientFrame,
  type ConnectRequest,
  type ConnectResponse,
  Hello,
  ResumeOutcome,
  type ServerFrame,
  Welcome,
} from "../../src/gen/sidecall/v1/runtime_stream.js";
import { ToolCall } from "../../src/gen/sidecall/v1/tool_call.js";

type Frame = NonNullable<ServerFrame["frame"]>;

export class FakeServer {
  readonly endpoint: string;
  readonly #streams = new Mailbox<FakeStream>();

  static async start(t: TestContext): Promise<FakeServer> {
    const folder = mkdtempSync(join(tmpdir(), "sidecall-"));
    const endpoint = `unix://${folder}/s.sock`;
    const server = new Server();
    const fake = new FakeServer(endpoint);
    server.addService(RuntimeServiceService, {
      connect: (stream: ServerDuplexStream<ConnectRequest, ConnectResponse>) =>
        fake.#streams.put(new FakeStream(stream)),
    });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
    });
    t.after(() => {
      server.forceShutdown();
      rmSync(folder, { recursive: true, force: true });
    });
    return fake;
  }

  private constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  /** The next connection: its Hello is read, and answered. */
  async connection(welcome: Partial<Welcome> = {}): Promise<FakeStream> {
    const stream = await this.greeted();
    stream.say(0, { $case: "welcome", value: Welcome.create({ ...WELCOME, ...welcome }) });
    return stream;
  }

  /** The next connection, without an answer to its Hello. */
  async greeted(): Promise<FakeStream> {
    const stream = await this.#streams.take();
    const { sequence, frames } = await stream.next();
    const hello = frames[0]?.frame;
    if (sequence !== 0n || hello?.$case !== "hello") {
      throw new Error("a connection does not begin with Hello");
    }
    stream.hello = hello.value;
    return stream;
  }
}

const WELCOME: Partial<Welcome> = {
  protocolVersion: 1,
  sessionId: "session",
  resumeToken: "token",
  resumeOutcome: ResumeOutcome.RESUME_OUTCOME_NEW,
  nextSequence: 1n,
  serverInstanceId: "instance",
  maxCallsInFlight: 8,
  maxBytesInFlight: 1n << 20n,
  maxMessageBytes: 4096n,
  maxChunkBytes: 1024n,
  maxFrameBytes: 65536n,
  heartbeatInterval: { seconds: 60n, nanos: 0 },
  heartbeatTimeout: { seconds: 60n, nanos: 0 },
  resumeGrace: { seconds: 60n, nanos: 0 },
};

/** The answer to who comes back. */
export function resumed(lastSequenceReceived: number): Partial<Welcome> {
  return {
    resumeOutcome: ResumeOutcome.RESUME_OUTCOME_RESUMED,
    lastSequenceReceived: BigInt(lastSequenceReceived),
  };
}

/** One connection. */
export class FakeStream {
  hello: Hello = Hello.create();
  /** Resolves when the client has given the connection up. */
  readonly cancelled: Promise<void>;
  readonly #stream: ServerDuplexStream<ConnectRequest, ConnectResponse>;
  readonly #sent = new Mailbox<ConnectRequest>();

  constructor(stream: ServerDuplexStream<ConnectRequest, ConnectResponse>) {
    this.#stream = stream;
    this.cancelled = new Promise((resolve) => {
      stream.on("cancelled", resolve);
    });
    stream.on("error", () => undefined); // how it ended is for the client to say
    stream.on("data", (message) => this.#sent.put(message));
  }

  /** What the client sends next. */
  next(): Promise<ConnectRequest> {
    return this.#sent.take();
  }

  /** The frames that the client sends next, by kind. */
  async frames(): Promise<ClientFrame["frame"][]> {
    return (await this.next()).frames.map(({ frame }) => frame);
  }

  say(sequence: number, ...frames: Frame[]): void {
    this.#stream.write({
      sequence: BigInt(sequence),
      acknowledged: 0n,
      frames: frames.map((frame) => ({ frame })),
    });
  }

  acknowledge(sequence: number): void {
    this.#stream.write({ sequence: 0n, acknowledged: BigInt(sequence), frames: [] });
  }

  /** Ends the stream as a lost connection. */
  fail(code = status.UNAVAILABLE): void {
    this.#stream.emit("error", { code, details: "as the test wants" });
  }

  /** Ends the stream well. */
  end(): void {
    this.#stream.end();
  }
}

export function invoke(token: string, callId: string, text = "{}"): Frame {
  return {
    $case: "invokeHandler",
    value: {
      invocationToken: Buffer.from(token),
      call: ToolCall.create({
        callId,
        turnId: "turn",
        toolName: { name: "tool" },
        payload: { payload: { $case: "function", value: { arguments: Buffer.from(text) } } },
      }),
      rewritten: false,
      dispatchOrder: 1n,
    },
  };
}

export function completes(callId: string): Frame {
  return {
    $case: "callCompleted",
    value: {
      call: { turnId: "turn", callId },
      dispatchOrder: 1n,
      outcome: {
        outcome: { $case: "completed", value: { success: true } },
        lifecycle: 1,
        handlerExecuted: true,
      },
      projections: undefined,
      additionalContexts: [],
      durations: undefined,
    },
  };
}

export function refuses(
  sequence: bigint,
  frameIndex: number | undefined,
  reason: ErrorReason,
): Frame {
  const value = {
    sequence,
    frameIndex,
    reason,
    message: "no",
    fieldViolations: [],
    call: undefined,
  };
  return { $case: "frameError", value };
}

export function chunk(transferId: number, sizeBytes: number, data: Uint8Array): Frame {
  return {
    $case: "outputChunk",
    value: {
      transferId: BigInt(transferId),
      sizeBytes: BigInt(sizeBytes),
      data: Buffer.from(data),
    },
  };
}

export { ErrorReason };
