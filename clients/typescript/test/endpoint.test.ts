/** How a sidecar is found and reached. */
import assert from "node:assert/strict";
import { spawn as start } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { channelTo } from "../src/endpoint.js";
import { defaultAddress, type EndpointOptions, SidecallClient } from "../src/index.js";
import { writeCertificates } from "./support/certificates.js";
import {
  callOf,
  connect,
  executable,
  mirror,
  ownSidecar,
  sharedEndpoint,
} from "./support/sidecar.js";

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sidecall-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A sidecar on a free port of the loopback interface: its port. */
async function listening(t: TestContext, ...flags: string[]): Promise<string> {
  const sidecar = start(executable, ["serve", "--listen", "127.0.0.1:0", ...flags]);
  t.after(async () => {
    sidecar.kill("SIGTERM");
    await once(sidecar, "close");
  });
  sidecar.stderr.resume();
  const [line] = await once(sidecar.stdout, "data");
  return JSON.parse(line).address.split(":").at(-1);
}

async function reach(endpoint?: EndpointOptions | string): Promise<void> {
  const client = new SidecallClient(endpoint);
  try {
    await client.runtimeInfo();
  } finally {
    client.close();
  }
}

test("what the caller says wins over the environment, and that over the default", () => {
  const environment = {
    SIDECALL_ENDPOINT: "env:1",
    SIDECALL_TOKEN: "from-env",
    XDG_RUNTIME_DIR: "/run/a b",
  };
  const of = (endpoint?: EndpointOptions | string, variables = environment) => {
    const { target, metadata } = channelTo(endpoint, variables);
    return [target, ...metadata.get("authorization")];
  };
  assert.deepEqual(of("tcp://said:2"), ["said:2", "Bearer from-env"]);
  assert.deepEqual(of({ token: "said" }), ["env:1", "Bearer said"]);
  assert.deepEqual(of(), ["env:1", "Bearer from-env"]);
  const bare = { ...environment, SIDECALL_ENDPOINT: "", SIDECALL_TOKEN: "" };
  assert.deepEqual(of(undefined, bare), ["unix:/run/a b/sidecall/sidecall.sock"]);
});

test("the default is the user's own socket", () => {
  assert.equal(
    defaultAddress({ XDG_RUNTIME_DIR: "/run/a b" }),
    "unix:///run/a%20b/sidecall/sidecall.sock",
  );
  for (const folder of ["", "relative", undefined]) {
    const address = defaultAddress({ XDG_RUNTIME_DIR: folder });
    assert.ok(address.endsWith(`/sidecall-${process.geteuid?.()}/sidecall.sock`), address);
  }
});

test("addresses and what they become", () => {
  for (const [address, target, isUnix] of [
    ["unix:///a/s.sock", "unix:/a/s.sock", true],
    ["unix:/a/s.sock", "unix:/a/s.sock", true],
    ["unix:///a%25b/s.sock", "unix:/a%b/s.sock", true],
    ["unix:///a%b/s.sock", "unix:/a%b/s.sock", true],
    ["localhost:1", "localhost:1", false],
    ["tcp://[::1]:1", "[::1]:1", false],
    ["tls://host:1", "host:1", false],
    ["dns:///host:1", "dns:///host:1", false],
  ] as const) {
    const channel = channelTo(address, {});
    assert.equal(channel.target, target);
    assert.equal(channel.options["grpc.default_authority"], isUnix ? "localhost" : undefined);
    assert.equal(channel.credentials._isSecure(), address.startsWith("tls:"));
    assert.equal(channel.options["grpc.max_receive_message_length"], 64 << 20);
    const proxied = channel.options["grpc.enable_http_proxy"] !== 0;
    assert.equal(proxied, address.startsWith("tls:"));
  }
});

test("the environment leads to a sidecar", async (t) => {
  process.env["SIDECALL_ENDPOINT"] = await sharedEndpoint();
  t.after(() => {
    delete process.env["SIDECALL_ENDPOINT"];
  });
  await reach();
});

test("a socket in a folder with odd characters", async (t) => {
  const folder = join(folderFor(t), "a b%é");
  mkdirSync(folder, { mode: 0o700 });
  const { endpoint } = await ownSidecar(t, "--socket", join(folder, "s.sock"));
  await reach(endpoint);
});

test("a server on TCP", async (t) => {
  const port = await listening(t);
  for (const endpoint of [`127.0.0.1:${port}`, `tcp://localhost:${port}`]) {
    const agent = await connect(t, { endpoint, tools: [mirror] });
    assert.equal((await agent.dispatch(callOf("turn", "id", "mirror"))).kind, "completed");
  }
});

test("mutual TLS with a bearer token", async (t) => {
  const folder = folderFor(t);
  const path = await writeCertificates(folder);
  writeFileSync(path("tokens"), "secret\n", { mode: 0o600 });
  const port = await listening(
    t,
    ...["--tls-certificate", path("server.pem"), "--tls-key", path("server.key")],
    ...["--tls-client-ca", path("ca.pem"), "--bearer-token-file", path("tokens")],
  );
  const address = `tls://localhost:${port}`;
  const authority = { address, caFile: path("ca.pem"), token: "secret" };
  const whole = {
    ...authority,
    certificateFile: path("client.pem"),
    keyFile: path("client.key"),
  };
  await reach(whole);
  const agent = await connect(t, { endpoint: whole, tools: [mirror] });
  assert.equal((await agent.dispatch(callOf("turn", "id", "mirror"))).kind, "completed");
  await assert.rejects(reach({ ...whole, token: "wrong" }), { reason: "UNAUTHENTICATED" });
  await assert.rejects(reach(authority), { reason: "UNAVAILABLE" });
  await assert.rejects(reach({ ...whole, caFile: undefined }), { reason: "UNAVAILABLE" });
  assert.throws(() => new SidecallClient({ ...whole, keyFile: path("none") }), { code: "ENOENT" });
});
