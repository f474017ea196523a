/**
 * The agent's side of a session's stream, across its connections, without I/O: it counts,
 * acknowledges, batches and cuts up what goes out; it drops what was seen, and puts pieces
 * together, of what comes in.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { SessionLostError, SidecallError, textOf } from "./errors.js";
import {
  ClientFrame,
  type ConnectResponse,
  type FrameError,
  type OutputChunk,
  ResumeOutcome,
  ServerFrame,
  type Welcome,
} from "./gen/sidecall/v1/runtime_stream.js";

/** Messages read before they are acknowledged, where nothing else is to be said. */
export const ACKNOWLEDGE_AFTER_MESSAGES = 64;
/** Likewise by their size: the server keeps them until then. */
export const ACKNOWLEDGE_AFTER_BYTES = 1 << 20;

/** How many frames one message holds at most: the server reads it at one go. */
export const MAX_FRAMES_PER_MESSAGE = 64;

const MESSAGE_OVERHEAD_BYTES = 64;
const FRAME_OVERHEAD_BYTES = 64;

/** Both sides no longer agree; the connection has to begin anew. */
export class ProtocolError extends SidecallError {
  override name = "ProtocolError";
}

/**
 * Where a frame was sent, so that a FrameError can be told whom it concerns. A frame in pieces
 * is in several messages, once in each.
 */
export class Place {
  readonly #indexes = new Map<bigint, number>();

  add(sequence: bigint, index: number): void {
    this.#indexes.set(sequence, index);
  }

  /** The error is about this frame, or about a whole message that has something of it. */
  covers({ sequence, frameIndex }: FrameError): boolean {
    const index = this.#indexes.get(sequence);
    return index !== undefined && (frameIndex === undefined || frameIndex === index);
  }
}

/**
 * Frames keep their order inside a lane. `ordered`: what the server has to read as it was said
 * (dispatches, cancels, turns). `answers`: results and verdicts, of which large ones must not
 * hold up the others. `farewell`: sent when nothing else waits.
 */
export type Lane = "ordered" | "answers" | "farewell";

interface QueuedFrame {
  bytes: Uint8Array;
  isPiece: boolean;
  place: Place | undefined;
}

interface KeptMessage {
  sequence: bigint;
  frames: readonly Uint8Array[];
}

interface Transfer {
  sizeBytes: number;
  receivedBytes: number;
  pieces: Buffer[];
}

/** One session's stream. */
export class Link {
  /** The highest sequence seen from the server. */
  lastReceived = 0n;
  /** Bytes of a frame that the server takes. */
  maxFrameBytes = Number.POSITIVE_INFINITY;
  #maxMessageBytes = Number.POSITIVE_INFINITY;
  #maxChunkBytes = Number.POSITIVE_INFINITY;
  #lastSequence = 0n;
  readonly #ordered: QueuedFrame[] = [];
  readonly #answers: QueuedFrame[] = [];
  readonly #largeAnswers: QueuedFrame[] = [];
  readonly #farewell: QueuedFrame[] = [];
  /** Numbered messages that the server has not acknowledged, in order. */
  readonly #kept: KeptMessage[] = [];
  /** How many of them this connection has sent. */
  #sent = 0;
  #transfers = 0n;
  readonly #incoming = new Map<bigint, Transfer>();
  #unsaidMessages = 0;
  #unsaidBytes = 0;

  /** Queues a serialised frame; it goes out with `nextMessage`, and again if it gets lost. */
  send(frame: Uint8Array, lane: Lane, place?: Place): void {
    const large = frame.length > this.#maxChunkBytes;
    const queue =
      lane === "ordered"
        ? this.#ordered
        : lane === "farewell"
          ? this.#farewell
          : large
            ? this.#largeAnswers
            : this.#answers;
    const frames = large ? this.#cut(frame) : [frame];
    queue.push(...frames.map((bytes) => ({ bytes, isPiece: large, place })));
  }

  /** The next message to write, serialised: what has to go, or an acknowledgement that is due. */
  nextMessage(): Uint8Array | undefined {
    if (this.#sent === this.#kept.length && !this.#pack()) {
      return this.#acknowledgementIsDue ? this.unnumbered() : undefined;
    }
    const message = this.#kept[this.#sent];
    if (message === undefined) {
      return undefined;
    }
    this.#sent += 1;
    return this.#serialise(message.sequence, message.frames);
  }

  /** A message outside the sequence: connection frames, and what was seen. */
  unnumbered(...frames: readonly ClientFrame["frame"][]): Uint8Array {
    return this.#serialise(
      0n,
      frames.map((frame) => ClientFrame.encode({ frame }).finish()),
    );
  }

  /** A connection begins: what the server has not seen is sent again. */
  welcomed(welcome: Welcome): void {
    this.maxFrameBytes = limitOf(welcome.maxFrameBytes);
    this.#maxMessageBytes = limitOf(welcome.maxMessageBytes) - MESSAGE_OVERHEAD_BYTES;
    this.#maxChunkBytes = Math.min(
      limitOf(welcome.maxChunkBytes),
      this.#maxMessageBytes - FRAME_OVERHEAD_BYTES,
    );
    this.#forget(welcome.lastSequenceReceived);
    this.#sent = 0;
    if (this.#lastSequence < welcome.lastSequenceReceived) {
      this.#lastSequence = welcome.lastSequenceReceived; // the session had another agent before
    }
    if (welcome.resumeOutcome === ResumeOutcome.RESUME_OUTCOME_GAP) {
      this.lastReceived = welcome.nextSequence - 1n;
      this.#incoming.clear();
    }
  }

  /**
   * The frames of a message that is new; none of one that was seen.
   *
   * @throws ProtocolError when a message is missing before it: a new connection brings it.
   * @throws SessionLostError when pieces make no frame that the server may send.
   */
  receive(message: ConnectResponse, sizeBytes: number): ServerFrame[] {
    this.#forget(message.acknowledged);
    if (message.sequence > 0n) {
      if (message.sequence <= this.lastReceived) {
        return [];
      }
      if (message.sequence > this.lastReceived + 1n) {
        throw new ProtocolError(
          `message ${message.sequence} came where ${this.lastReceived + 1n} is next`,
        );
      }
      this.lastReceived = message.sequence;
      this.#unsaidMessages += 1;
      this.#unsaidBytes += sizeBytes;
    }
    return message.frames.flatMap((frame) =>
      frame.frame?.$case === "outputChunk" ? this.#join(frame.frame.value) : [frame],
    );
  }

  /** The server has read everything, as far as it has said so. */
  get isIdle(): boolean {
    return (
      this.#kept.length === 0 &&
      [this.#ordered, this.#answers, this.#largeAnswers, this.#farewell].every(
        (queue) => queue.length === 0,
      )
    );
  }

  get #acknowledgementIsDue(): boolean {
    return (
      this.#unsaidMessages >= ACKNOWLEDGE_AFTER_MESSAGES ||
      this.#unsaidBytes >= ACKNOWLEDGE_AFTER_BYTES
    );
  }

  #serialise(sequence: bigint, frames: readonly Uint8Array[]): Uint8Array {
    this.#unsaidMessages = this.#unsaidBytes = 0;
    // By hand, because the frames are serialised already: ConnectRequest's fields 1, 2 and 3.
    const writer = new BinaryWriter();
    if (sequence > 0n) {
      writer.uint32(8).uint64(sequence);
    }
    if (this.lastReceived > 0n) {
      writer.uint32(16).uint64(this.lastReceived);
    }
    for (const frame of frames) {
      writer.uint32(26).bytes(frame);
    }
    return writer.finish();
  }

  /** Makes one message of what waits: small frames together, and of large ones a piece each. */
  #pack(): boolean {
    const sequence = this.#lastSequence + 1n;
    const frames: Uint8Array[] = [];
    let room = this.#maxMessageBytes;
    const take = (queue: QueuedFrame[]): void => {
      let taken = 0;
      let pieceTaken = false;
      for (const { bytes, isPiece, place } of queue) {
        const cost = bytes.length + FRAME_OVERHEAD_BYTES;
        const full = frames.length >= MAX_FRAMES_PER_MESSAGE || (cost > room && frames.length > 0);
        if (full || (isPiece && pieceTaken)) {
          break;
        }
        place?.add(sequence, frames.length);
        frames.push(bytes);
        room -= cost;
        pieceTaken ||= isPiece;
        taken += 1;
      }
      queue.splice(0, taken);
    };
    take(this.#ordered);
    take(this.#answers);
    take(this.#largeAnswers);
    if (frames.length === 0) {
      take(this.#farewell);
    }
    if (frames.length === 0) {
      return false;
    }
    this.#lastSequence = sequence;
    this.#kept.push({ sequence, frames });
    return true;
  }

  #cut(frame: Uint8Array): Uint8Array[] {
    this.#transfers += 1n;
    const pieces: Uint8Array[] = [];
    for (let start = 0; start < frame.length; start += this.#maxChunkBytes) {
      const value: OutputChunk = {
        transferId: this.#transfers,
        sizeBytes: BigInt(frame.length),
        data: Buffer.from(frame.subarray(start, start + this.#maxChunkBytes)),
      };
      pieces.push(ClientFrame.encode({ frame: { $case: "outputChunk", value } }).finish());
    }
    return pieces;
  }

  #join(chunk: OutputChunk): ServerFrame[] {
    const sizeBytes = Number(chunk.sizeBytes);
    const transfer = this.#incoming.get(chunk.transferId) ?? {
      sizeBytes,
      receivedBytes: 0,
      pieces: [],
    };
    transfer.receivedBytes += chunk.data.length;
    transfer.pieces.push(chunk.data);
    if (
      sizeBytes > this.maxFrameBytes ||
      sizeBytes !== transfer.sizeBytes ||
      transfer.receivedBytes > sizeBytes
    ) {
      throw violated(
        `transfer ${chunk.transferId} has ${transfer.receivedBytes} bytes of ${sizeBytes},` +
          ` where ${this.maxFrameBytes} are allowed`,
      );
    }
    if (transfer.receivedBytes < sizeBytes) {
      this.#incoming.set(chunk.transferId, transfer);
      return [];
    }
    this.#incoming.delete(chunk.transferId);
    try {
      return [ServerFrame.decode(Buffer.concat(transfer.pieces))];
    } catch (error) {
      throw violated(`transfer ${chunk.transferId} is not a frame: ${textOf(error)}`);
    }
  }

  #forget(acknowledged: bigint): void {
    const first = this.#kept.findIndex(({ sequence }) => sequence > acknowledged);
    const count = first < 0 ? this.#kept.length : first;
    this.#kept.splice(0, count);
    this.#sent = Math.max(0, this.#sent - count);
  }
}

/** A new connection would bring the same again. */
function violated(message: string): SessionLostError {
  return new SessionLostError("PROTOCOL_VIOLATED", { cause: new ProtocolError(message) });
}

/** A limit of the server; 0: it has none. */
function limitOf(bytes: bigint): number {
  return Number(bytes) || Number.POSITIVE_INFINITY;
}
