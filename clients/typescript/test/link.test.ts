/** What goes together, in pieces, again, and what an error is about. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ClientFrame,
  ConnectRequest,
  type FrameError,
  ResumeOutcome,
  Welcome,
} from "../src/gen/sidecall/v1/runtime_stream.js";
import { Link, MAX_FRAMES_PER_MESSAGE, Place } from "../src/link.js";

const MESSAGE_BYTES = 2500;
const CHUNK_BYTES = 1000;

function linkWith(welcome: Partial<Welcome> = {}): Link {
  const link = new Link();
  link.welcomed(
    Welcome.create({
      maxMessageBytes: BigInt(MESSAGE_BYTES),
      maxChunkBytes: BigInt(CHUNK_BYTES),
      ...welcome,
    }),
  );
  return link;
}

/** A frame with a name, of about a size. */
function frameOf(turnId: string, sizeBytes = 10): Uint8Array {
  const value = { turnId: turnId.padEnd(sizeBytes, " ") };
  return ClientFrame.encode({ frame: { $case: "endTurn", value } }).finish();
}

function written(link: Link): ConnectRequest[] {
  const messages: ConnectRequest[] = [];
  for (let bytes = link.nextMessage(); bytes !== undefined; bytes = link.nextMessage()) {
    assert.ok(bytes.length <= MESSAGE_BYTES, `${bytes.length} bytes`);
    messages.push(ConnectRequest.decode(bytes));
  }
  return messages;
}

/** The names of the frames of all messages that wait, one text per message. */
function names(link: Link): string[] {
  return written(link).map(({ frames }) =>
    frames
      .map(({ frame }) => (frame?.$case === "endTurn" ? frame.value.turnId.trim() : "piece"))
      .join(" "),
  );
}

const errorAt = (sequence: number, frameIndex?: number): FrameError => ({
  sequence: BigInt(sequence),
  frameIndex,
  reason: 1,
  message: "",
  fieldViolations: [],
  call: undefined,
});

for (const [name, queue, expected] of [
  [
    "what fits goes together",
    (link: Link) => {
      link.send(frameOf("a"), "ordered");
      link.send(frameOf("b"), "answers");
      link.send(frameOf("c"), "ordered");
    },
    ["a c b"],
  ],
  [
    "what does not fit goes later",
    (link: Link) => {
      for (const id of ["a", "b", "c"]) {
        link.send(frameOf(id, 900), "ordered");
      }
    },
    ["a b", "c"],
  ],
  [
    "a large answer holds up nothing",
    (link: Link) => {
      link.send(frameOf("large", 2500), "answers");
      link.send(frameOf("call"), "ordered");
      link.send(frameOf("small"), "answers");
    },
    ["call small piece", "piece", "piece"],
  ],
  [
    "what is ordered keeps its order",
    (link: Link) => {
      link.send(frameOf("large", 1500), "ordered");
      link.send(frameOf("behind"), "ordered");
      link.send(frameOf("answer"), "answers");
    },
    ["piece answer", "piece behind"],
  ],
  [
    "the farewell is the last word",
    (link: Link) => {
      link.send(frameOf("farewell"), "farewell");
      link.send(frameOf("large", 1500), "answers");
      link.send(frameOf("call"), "ordered");
    },
    ["call piece", "piece", "farewell"],
  ],
] satisfies [string, (link: Link) => void, string[]][]) {
  test(name, () => {
    const link = linkWith();
    queue(link);
    assert.deepEqual(names(link), expected);
  });
}

test("the pieces make the frame again", () => {
  const link = linkWith();
  const frame = frameOf("large", 5000);
  link.send(frame, "answers");
  const pieces = written(link).map((message) => {
    const piece = message.frames[0]?.frame;
    assert.ok(piece?.$case === "outputChunk");
    assert.equal(piece.value.transferId, 1n);
    assert.equal(piece.value.sizeBytes, BigInt(frame.length));
    assert.ok(piece.value.data.length <= CHUNK_BYTES);
    return piece.value.data;
  });
  assert.deepEqual(Buffer.concat(pieces), Buffer.from(frame));
});

test("a message holds a bounded number of frames", () => {
  const link = linkWith({ maxMessageBytes: 1_000_000n });
  for (let number = 0; number < 2 * MAX_FRAMES_PER_MESSAGE + 1; number += 1) {
    link.send(frameOf("x", 1), "ordered");
  }
  const counts: number[] = [];
  for (let bytes = link.nextMessage(); bytes !== undefined; bytes = link.nextMessage()) {
    counts.push(ConnectRequest.decode(bytes).frames.length);
  }
  assert.deepEqual(counts, [MAX_FRAMES_PER_MESSAGE, MAX_FRAMES_PER_MESSAGE, 1]);
});

test("a frame error finds what it is about", () => {
  const link = linkWith();
  const places = [new Place(), new Place(), new Place()];
  link.send(frameOf("a"), "ordered", places[0]);
  link.send(frameOf("b"), "ordered", places[1]);
  link.send(frameOf("c", 1500), "ordered", places[2]);
  assert.deepEqual(names(link), ["a b piece", "piece"]);
  for (const [error, expected] of [
    [errorAt(1, 0), [true, false, false]],
    [errorAt(1, 1), [false, true, false]],
    [errorAt(2, 0), [false, false, true]],
    [errorAt(1), [true, true, true]],
    [errorAt(2), [false, false, true]],
    [errorAt(9, 0), [false, false, false]],
    [errorAt(0), [false, false, false]],
  ] as const) {
    assert.deepEqual(
      places.map((place) => place.covers(error)),
      expected,
    );
  }
});

test("a new client of an old session goes on with its sequence", () => {
  const link = linkWith({
    lastSequenceReceived: 41n,
    nextSequence: 8n,
    resumeOutcome: ResumeOutcome.RESUME_OUTCOME_GAP,
  });
  link.send(frameOf("a"), "ordered");
  const [message] = written(link);
  assert.equal(message?.sequence, 42n);
  assert.equal(message?.acknowledged, 7n);
  assert.equal(link.isIdle, false);
  link.receive({ sequence: 0n, acknowledged: 42n, frames: [] }, 0);
  assert.equal(link.isIdle, true);
});

test("what was read is acknowledged by its size, too", () => {
  const link = linkWith();
  link.receive({ sequence: 1n, acknowledged: 0n, frames: [] }, 1 << 19);
  assert.deepEqual(written(link), []);
  link.receive({ sequence: 2n, acknowledged: 0n, frames: [] }, 1 << 19);
  assert.deepEqual(
    written(link).map(({ sequence, acknowledged }) => [sequence, acknowledged]),
    [[0n, 2n]],
  );
  assert.deepEqual(written(link), []);
});
