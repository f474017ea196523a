/** Real sidecars, and agents of them. */
import { after, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Mailbox } from "../../conformance/mailboxes.js";
import {
  Agent,
  type AgentOptions,
  BINARY_VARIABLE,
  type CallAbortedError,
  functionPayload,
  type Handler,
  type Invocation,
  SidecallClient,
  type Sidecar,
  spawn,
  type Tool,
  type ToolCall,
} from "../../src/index.js";

/** A program of the virtual environment that `make setup` makes. */
export function installed(program: string): string {
  return fileURLToPath(new URL(`../../../../../.venv/bin/${program}`, import.meta.url));
}

/** The server that the tests run against. */
export const executable = process.env[BINARY_VARIABLE] || installed("sidecall");

/** A sidecar for one test. */
export async function ownSidecar(t: TestContext, ...args: string[]): Promise<Sidecar> {
  const sidecar = await spawn({ executable, args });
  t.after(() => sidecar.stop());
  return sidecar;
}

let shared: Promise<Sidecar> | undefined;

/** The endpoint of one sidecar for all tests of a file that need nothing special of it. */
export async function sharedEndpoint(): Promise<string> {
  shared ??= spawn({ executable });
  return (await shared).endpoint;
}

after(async () => (await shared)?.stop());

/** An agent; of the shared sidecar unless the options say another. */
export async function connect(t: TestContext, options: AgentOptions = {}): Promise<Agent> {
  const agent = await Agent.connect({ endpoint: await sharedEndpoint(), ...options });
  t.after(() => agent.close());
  return agent;
}

/** A client of the shared sidecar. */
export async function client(t: TestContext): Promise<SidecallClient> {
  const made = new SidecallClient(await sharedEndpoint());
  t.after(() => made.close());
  return made;
}

/** A function call. */
export function callOf(turnId: string, callId: string, name: string, args: unknown = {}): ToolCall {
  return { turnId, callId, name, payload: functionPayload(args) };
}

/** A tool that answers with a text. */
export function saying(name: string, text: string, more: Partial<Tool> = {}): Tool {
  return { name, handler: () => text, ...more };
}

/** Answers with its arguments. */
export const mirror: Tool = {
  name: "mirror",
  handler: ({ call }) => (call.payload.kind === "function" ? call.payload.arguments : "?"),
};

/** A tool whose test decides when it returns what. */
export class Puppet {
  readonly started = new Mailbox<Invocation>();
  /** What it returns, one for each call. */
  readonly texts = new Mailbox<string>();
  /** Why it was told to stop. */
  readonly stopped = new Mailbox<CallAbortedError>();
  /** Lets a handler end that was told to stop. */
  readonly mayEnd = new Mailbox<void>();

  tool(name: string, more: Partial<Tool> = {}): Tool {
    return { name, handler: this.#handle, ...more };
  }

  readonly #handle: Handler = async (invocation) => {
    this.started.put(invocation);
    try {
      return await this.texts.take(invocation.signal);
    } catch (reason) {
      this.stopped.put(reason as CallAbortedError);
      await this.mayEnd.take();
      throw reason;
    }
  };
}
