/** Where the sidecar is, and what it takes to talk to it. */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type ChannelCredentials, type ChannelOptions, credentials, Metadata } from "@grpc/grpc-js";

/** Names the sidecar where the caller does not. */
export const ENDPOINT_VARIABLE = "SIDECALL_ENDPOINT";
/** Holds a bearer token where the caller gives none. */
export const TOKEN_VARIABLE = "SIDECALL_TOKEN";

/** Servers may be set to more than their default of 4 MiB. */
const MAX_RECEIVED_MESSAGE_BYTES = 64 * 1024 * 1024;

/** A sidecar's address, and how to prove who is who. */
export interface EndpointOptions {
  /**
   * `unix:///path/to.sock`, `tcp://host:port` or `host:port` (plain: meant for loopback), or
   * `tls://host:port`. Absent: `SIDECALL_ENDPOINT`, else the default socket of this user.
   */
  address?: string | undefined;
  /** PEM file with the authorities that sign the server, with TLS. */
  caFile?: string | undefined;
  /** PEM file with the client's chain, for mutual TLS. */
  certificateFile?: string | undefined;
  /** PEM file with the key of that chain. */
  keyFile?: string | undefined;
  /** A bearer token. Absent: `SIDECALL_TOKEN`, and none where that is empty too. */
  token?: string | undefined;
}

/** What grpc-js needs to open a channel. */
export interface Channel {
  target: string;
  credentials: ChannelCredentials;
  options: ChannelOptions;
  metadata: Metadata;
}

/** The socket that a server takes by default. */
export function defaultAddress(environment: NodeJS.ProcessEnv = process.env): string {
  const runtimeFolder = environment["XDG_RUNTIME_DIR"] ?? "";
  const folder = isAbsolute(runtimeFolder)
    ? join(runtimeFolder, "sidecall")
    : join(tmpdir(), `sidecall-${process.geteuid?.() ?? 0}`);
  return `unix://${encodeURI(join(folder, "sidecall.sock"))}`;
}

/**
 * Finds out how to reach a sidecar.
 *
 * @throws Error when a file cannot be read.
 */
export function channelTo(
  endpoint: EndpointOptions | string = {},
  environment: NodeJS.ProcessEnv = process.env,
): Channel {
  const given = typeof endpoint === "string" ? { address: endpoint } : endpoint;
  const address = given.address || environment[ENDPOINT_VARIABLE] || defaultAddress(environment);
  const token = given.token || environment[TOKEN_VARIABLE];
  const [, scheme = "tcp", rest = ""] = /^(?:(unix|tcp|tls):(?:\/\/)?)?(.*)$/s.exec(address) ?? [];
  const read = (file: string | undefined) => (file === undefined ? null : readFileSync(file));
  const metadata = new Metadata();
  if (token) {
    metadata.set("authorization", `Bearer ${token}`);
  }
  return {
    target: scheme === "unix" ? `unix:${unquoted(rest)}` : rest,
    credentials:
      scheme === "tls"
        ? credentials.createSsl(
            read(given.caFile),
            read(given.keyFile),
            read(given.certificateFile),
          )
        : credentials.createInsecure(),
    options: {
      "grpc.max_receive_message_length": MAX_RECEIVED_MESSAGE_BYTES,
      "grpc.max_send_message_length": -1,
      "grpc.initial_reconnect_backoff_ms": 50,
      "grpc.max_reconnect_backoff_ms": 2000,
      // One connection of its own, so that closing a client closes it.
      "grpc.use_local_subchannel_pool": 1,
      // Plain endpoints are of this machine: no proxy of the environment gets to see them.
      ...(scheme !== "tls" && { "grpc.enable_http_proxy": 0 }),
      // Otherwise the path of the socket is the authority, which strict servers refuse.
      ...(scheme === "unix" && { "grpc.default_authority": "localhost" }),
    },
    metadata,
  };
}

/** The server quotes odd characters of a path, as most of gRPC expects; grpc-js does not. */
function unquoted(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // it was never quoted
  }
}
