/** When the agent stops to try. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection } from "../src/connection.js";
import { RefusedError, SessionLostError } from "../src/index.js";
import { reattach } from "../src/reattach.js";

const cause = new RefusedError("UNAVAILABLE", "gone");
const never = new AbortController().signal;

function failing(error: unknown): () => Connection {
  return () => ({ opened: Promise.reject(error) }) as unknown as Connection;
}

test("a connection that opens is taken, after as many tries as it takes", async () => {
  const connection = { opened: Promise.resolve() } as unknown as Connection;
  let tries = 0;
  const open = () => (++tries < 3 ? failing(cause)() : connection);
  assert.equal(await reattach(open, cause, 60_000, never), connection);
  assert.equal(tries, 3);
});

test("it tries until the grace is over", async () => {
  let tries = 0;
  const open = () => {
    tries++;
    return failing(cause)();
  };
  await assert.rejects(reattach(open, cause, 300, never), (error) => {
    assert.ok(error instanceof SessionLostError);
    assert.equal(error.reason, "RESUME_GRACE_OVER");
    assert.equal(error.cause, cause);
    return true;
  });
  assert.ok(tries > 0);
});

test("it gives up at once where no try can succeed", async () => {
  const untouched = () => assert.fail("it tried");
  for (const [error, reason] of [
    [new RefusedError("TAKEN_OVER", "no"), "TAKEN_OVER"],
    [new RefusedError("RESUME_TOKEN_INVALID", "no"), "RESUME_TOKEN_INVALID"],
    [new SessionLostError("SERVER_RESTARTED"), "SERVER_RESTARTED"],
    [new TypeError("a defect"), "CLIENT_FAULT"],
  ] as const) {
    await assert.rejects(reattach(untouched, error, 60_000, never), { reason });
    await assert.rejects(reattach(failing(error), cause, 60_000, never), { reason });
  }
});

test("it gives up when the agent leaves", async () => {
  const abandon = AbortSignal.abort();
  await assert.rejects(reattach(failing(cause), cause, 60_000, abandon), { reason: "DETACHED" });
});
