/** A tool that runs commands with bash. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  HeadTailBuffer,
  type Invocation,
  RespondToModelError,
  type Tool,
  type ToolOutput,
} from "@sidecall/client";

/** The model's truncation policy. */
export const MODEL_POLICY = { tokens: 10_000 };
/** How long a command may take to end after it was asked to, in milliseconds. */
const KILL_AFTER_MS = 3000;

export class Shell {
  /** The calls whose process a cancel has ended. */
  readonly killed = new Set<string>();
  readonly #running = new Map<string, () => void>();

  tool(): Tool {
    return {
      name: "shell",
      handler: (asked) => this.#run(asked),
      hookKind: "shell",
      cancelMode: "wait_for_teardown",
    };
  }

  /** Resolves once the command of a call has written something. */
  runs(callId: string): Promise<void> {
    return new Promise((resolve) => this.#running.set(callId, resolve));
  }

  async #run(asked: Invocation): Promise<ToolOutput> {
    const { command } = asked.arguments<{ command: string }>();
    const { callId } = asked.call;
    const collected = new HeadTailBuffer();
    const startedMs = performance.now();
    // A group of its own, so that what bash has started ends with it.
    const bash = spawn("bash", ["-c", command], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const pipe of [bash.stdout, bash.stderr]) {
      pipe.on("data", (data: Buffer) => {
        collected.write(data);
        this.#running.get(callId)?.();
      });
    }
    const exitCode = await exitOf(bash, asked.signal);
    if (asked.signal.aborted) {
      this.killed.add(callId);
      throw asked.signal.reason; // torn down: the process is gone
    }
    return collected.execOutput(MODEL_POLICY, {
      wallTimeMs: performance.now() - startedMs,
      exitCode: exitCode ?? undefined,
      hookCommand: command,
    });
  }
}

/** Waits for the end of a process, and ends it with the signal. */
async function exitOf(process: ChildProcess, signal: AbortSignal): Promise<number | null> {
  let kill: NodeJS.Timeout | undefined;
  const stop = () => {
    signalGroup(process, "SIGTERM");
    kill = setTimeout(() => signalGroup(process, "SIGKILL"), KILL_AFTER_MS);
  };
  signal.addEventListener("abort", stop);
  try {
    const [code] = await once(process, "close");
    return code;
  } catch (error) {
    throw new RespondToModelError(`bash did not start: ${error}`);
  } finally {
    clearTimeout(kill);
    signal.removeEventListener("abort", stop);
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(pid as number), signal);
  } catch {} // it has ended by itself
}
