/** Sidecars of an agent's own. */
import assert from "node:assert/strict";
import { spawn as start } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { SidecallClient, SpawnError, spawn } from "../src/index.js";
import { executable } from "./support/sidecar.js";

const library = new URL("../src/index.js", import.meta.url).href;

/** Runs a script that starts a sidecar; gives what it says about it and its process. */
async function agentThat(t: TestContext, then: string) {
  const script = `
    const { spawn } = await import(${JSON.stringify(library)});
    const sidecar = await spawn({ executable: ${JSON.stringify(executable)} });
    console.log(JSON.stringify({ pid: sidecar.pid, endpoint: sidecar.endpoint }));
    ${then}`;
  const agent = start(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => agent.kill("SIGKILL"));
  const [line] = await once(agent.stdout, "data");
  return { agent, ...(JSON.parse(line) as { pid: number; endpoint: string }) };
}

/** Resolves when nobody serves there any more: a connection lasts as long as the server. */
function unreachable(endpoint: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(endpoint.slice("unix://".length));
    socket.on("error", () => undefined); // it has ended already
    socket.on("close", () => resolve());
    socket.resume();
  });
}

test("a sidecar ends with its agent, even when that is killed", async (t) => {
  const { agent, endpoint } = await agentThat(t, "setInterval(() => undefined, 1000);");
  const client = new SidecallClient(endpoint);
  assert.equal((await client.runtimeInfo()).draining, false);
  client.close();
  agent.kill("SIGKILL");
  await unreachable(endpoint);
});

test("a sidecar that was forgotten does not keep its agent", async (t) => {
  const { agent, endpoint } = await agentThat(t, "");
  const [code] = await once(agent, "exit");
  assert.equal(code, 0);
  await unreachable(endpoint);
});

test("stopping ends the sidecar well, and its folder with it", async () => {
  const log = new PassThrough();
  const sidecar = await spawn({ executable, stderr: log });
  assert.match(sidecar.version, /^\d+\.\d+\.\d+/);
  assert.ok(existsSync(new URL(sidecar.endpoint.replace("unix:", "file:"))));
  assert.deepEqual(await sidecar.stop(), { code: 0, signal: null });
  assert.deepEqual(await sidecar.exited, { code: 0, signal: null });
  assert.throws(() => process.kill(sidecar.pid, 0), { code: "ESRCH" });
  assert.ok(!existsSync(new URL(sidecar.endpoint.replace("unix:", "file:"))));
  log.end();
  assert.match(await text(log), /"/, "its log went to the stream");
});

test("a start that fails says why", async () => {
  for (const [options, says] of [
    [{ executable: "/nowhere/sidecall" }, /ENOENT/],
    [{ executable, args: ["--nonsense"] }, /it ended before it was ready.*--nonsense/s],
    [{ executable: "echo" }, /did not say that it is ready but "serve /],
    [{ executable, signal: AbortSignal.abort() }, /aborted/],
  ] as const) {
    await assert.rejects(spawn(options), (error) => {
      assert.ok(error instanceof SpawnError);
      assert.match(error.message, says);
      assert.match(error.message, /SIDECALL_BIN/);
      return true;
    });
  }
});

test("the environment says which program", async () => {
  process.env["SIDECALL_BIN"] = "/nowhere/named";
  await assert.rejects(spawn(), /cannot start \/nowhere\/named/);
});
