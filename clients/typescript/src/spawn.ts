/** A sidecar of the agent's own: started, waited for, and stopped with it. */
import { type ChildProcess, spawn as start } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { HeadTailBuffer } from "./collection.js";
import { SpawnError, textOf } from "./errors.js";

/** Names the program that `spawn` runs where the caller does not. */
export const BINARY_VARIABLE = "SIDECALL_BIN";

/** How long a sidecar may take to get ready, in milliseconds. */
const READY_TIMEOUT_MS = 30_000;
/** How long it may take to leave after SIGTERM, in milliseconds: its drain and some more. */
const STOP_TIMEOUT_MS = 15_000;
/** How much of its log goes into the error of a start that failed. */
const LAST_WORDS_BYTES = 2000;

/** How to start a sidecar. */
export interface SpawnOptions {
  /** The program. Absent: what `SIDECALL_BIN` says, else `sidecall` on the `PATH`. */
  executable?: string | undefined;
  /** More flags of `sidecall serve`. */
  args?: readonly string[] | undefined;
  /** Gets the sidecar's log. Absent: nobody does. */
  stderr?: Writable | undefined;
  /** Gives the start up. */
  signal?: AbortSignal | undefined;
}

/** How a sidecar ended. */
export interface SidecarExit {
  /** Its exit code. Null: a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * A sidecar that this process has started. It ends with this process, however that ends: its
 * stdin is a pipe that only this process holds. `spawn` makes it.
 */
export class Sidecar {
  /** Its address, for `Agent.connect` and `SidecallClient`. */
  readonly endpoint: string;
  readonly version: string;
  /** Its process id. */
  readonly pid: number;
  /** Resolves with how it ended. */
  readonly exited: Promise<SidecarExit>;
  readonly #child: ChildProcess;

  /** @internal */
  constructor(child: ChildProcess, exited: Promise<SidecarExit>, ready: Ready) {
    this.endpoint = ready.address;
    this.version = ready.version;
    this.pid = ready.pid;
    this.exited = exited;
    this.#child = child;
    // A sidecar that was forgotten must not keep its agent alive.
    child.unref();
    for (const pipe of child.stdio) {
      if (pipe instanceof Socket) {
        pipe.unref();
      }
    }
  }

  /** Ends it: asks it to (SIGTERM), waits, and kills it where that is not enough. */
  async stop(): Promise<SidecarExit> {
    this.#child.kill("SIGTERM");
    const patience = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    try {
      return await this.exited;
    } finally {
      clearTimeout(patience);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The line that a sidecar prints when it listens. */
interface Ready {
  event: string;
  address: string;
  version: string;
  pid: number;
}

/**
 * Runs `sidecall serve` on a private socket, and waits until it is ready.
 *
 * @throws SpawnError when it cannot be started; its last words are in the message.
 */
export async function spawn(options: SpawnOptions = {}): Promise<Sidecar> {
  const program = options.executable || process.env[BINARY_VARIABLE] || "sidecall";
  const folder = await mkdtemp(join(tmpdir(), "sidecall-"));
  const flags = ["serve", "--socket", join(folder, "s.sock"), "--exit-on-stdin-eof"];
  const child = start(program, [...flags, ...(options.args ?? [])]);
  const exited = exitOf(child).finally(() => rm(folder, { recursive: true, force: true }));
  const words = new HeadTailBuffer(LAST_WORDS_BYTES);
  child.stderr.on("data", (data: Buffer) => {
    words.write(data);
    options.stderr?.write(data);
  });
  try {
    return new Sidecar(child, exited, await ready(child.stdout, exited, options.signal));
  } catch (error) {
    child.kill("SIGKILL");
    await exited.catch(() => undefined); // it never ran: `error` says so
    throw new SpawnError(
      `cannot start ${program} (${BINARY_VARIABLE} may say another): ${textOf(error)}\n` +
        words.collected().toString().trim(),
      { cause: error },
    );
  }
}

/** Rejects when the process could not be started. */
function exitOf(child: ChildProcess): Promise<SidecarExit> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
}

async function ready(
  stdout: Readable,
  exited: Promise<SidecarExit>,
  signal: AbortSignal | undefined,
): Promise<Ready> {
  const timeout = AbortSignal.timeout(READY_TIMEOUT_MS);
  const lines = createInterface({ input: stdout });
  const [line]: string[] = await Promise.race([
    once(lines, "line", { signal: signal ? AbortSignal.any([signal, timeout]) : timeout }),
    exited.then(() => {
      throw new SpawnError("it ended before it was ready");
    }),
  ]);
  lines.close();
  stdout.resume(); // so that it never waits for a reader
  return parsed(line ?? "");
}

function parsed(line: string): Ready {
  try {
    const said: Ready = JSON.parse(line);
    if (said.event === "ready") {
      return said;
    }
  } catch {}
  throw new SpawnError(`it did not say that it is ready but ${JSON.stringify(line)}`);
}
