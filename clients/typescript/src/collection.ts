/** Collecting what a process writes, within bounds (SPEC C7). */
import type { ExecCommandOutput, TruncationPolicy } from "./output.js";

/** The room a `HeadTailBuffer` has unless told otherwise, in bytes. */
export const COLLECTION_BUFFER_BYTES = 1_048_576;

/** Keeps the first and the last half of its room; the middle is dropped and counted. */
export class HeadTailBuffer {
  readonly #headRoom: number;
  readonly #tailRoom: number;
  readonly #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #observedBytes = 0;

  constructor(capacityBytes = COLLECTION_BUFFER_BYTES) {
    this.#headRoom = Math.floor(capacityBytes / 2);
    this.#tailRoom = capacityBytes - this.#headRoom;
  }

  /** Takes what the process wrote. */
  write(data: Uint8Array): void {
    let rest = Buffer.from(data);
    this.#observedBytes += rest.length;
    const taken = rest.subarray(0, this.#headRoom - this.#headBytes);
    if (taken.length > 0) {
      this.#head.push(taken);
      this.#headBytes += taken.length;
      rest = rest.subarray(taken.length);
    }
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Cut only now and then: each cut copies the whole tail.
    if (this.#tailBytes > 2 * this.#tailRoom) {
      this.#tail = [this.#keptTail()];
      this.#tailBytes = this.#tailRoom;
    }
  }

  /** All bytes that were written, kept or not. */
  get observedBytes(): number {
    return this.#observedBytes;
  }

  /** Bytes dropped from the middle. */
  get omittedBytes(): number {
    return this.#observedBytes - this.#headBytes - Math.min(this.#tailBytes, this.#tailRoom);
  }

  /** Tokens of everything observed, dropped bytes included; four bytes each. */
  get originalTokenCount(): number {
    return Math.ceil(this.#observedBytes / 4);
  }

  /** Head and tail, with a line between them that says what is missing. */
  collected(): Buffer {
    const omitted = this.omittedBytes;
    const marker = omitted > 0 ? `\n... ${omitted} bytes omitted ...\n` : "";
    return Buffer.concat([...this.#head, Buffer.from(marker), this.#keptTail()]);
  }

  /** What was collected as the output of a command; `more` adds what else is known of it. */
  execOutput(
    truncationPolicy: TruncationPolicy,
    more: Partial<Omit<ExecCommandOutput, "kind" | "output" | "truncationPolicy">> = {},
  ): ExecCommandOutput {
    return {
      kind: "exec_command",
      output: this.collected(),
      truncationPolicy,
      originalTokenCount: this.originalTokenCount,
      ...(this.omittedBytes > 0 && { outputOmittedBytes: this.omittedBytes }),
      ...more,
    };
  }

  #keptTail(): Buffer {
    const tail = Buffer.concat(this.#tail);
    return tail.subarray(Math.max(0, tail.length - this.#tailRoom));
  }
}
