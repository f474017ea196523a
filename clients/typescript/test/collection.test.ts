/** Collecting within bounds (SPEC C7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { COLLECTION_BUFFER_BYTES, HeadTailBuffer } from "../src/index.js";

for (const [capacity, writes, expected, omitted] of [
  [10, [], "", 0],
  [10, ["0123456789"], "0123456789", 0],
  [10, ["01234", "56789", "abc"], "01234\n... 3 bytes omitted ...\n89abc", 3],
  [10, ["0123456789abcdef"], "01234\n... 6 bytes omitted ...\nbcdef", 6],
  [3, Array.from("abcdefg"), "a\n... 4 bytes omitted ...\nfg", 4],
  [10, ["0", "123456", "7890", "a"], "01234\n... 2 bytes omitted ...\n7890a", 2],
] satisfies [number, string[], string, number][]) {
  test(`${writes.join("|")} in ${capacity} bytes`, () => {
    const buffer = new HeadTailBuffer(capacity);
    for (const text of writes) {
      buffer.write(Buffer.from(text));
    }
    const written = writes.join("").length;
    assert.equal(buffer.observedBytes, written);
    assert.deepEqual(buffer.execOutput({ tokens: 1 }, { exitCode: 3 }), {
      kind: "exec_command",
      output: Buffer.from(expected),
      truncationPolicy: { tokens: 1 },
      originalTokenCount: Math.ceil(written / 4),
      exitCode: 3,
      ...(omitted > 0 && { outputOmittedBytes: omitted }),
    });
  });
}

test("without a word about it there is room for a mebibyte", () => {
  const buffer = new HeadTailBuffer();
  buffer.write(Buffer.alloc(COLLECTION_BUFFER_BYTES + 1));
  assert.equal(buffer.omittedBytes, 1);
});
