/** What a server says about itself. */
import { milliseconds } from "./durations.js";
import type { GetRuntimeInfoResponse } from "./gen/sidecall/v1/runtime_service.js";

/** A server: versions, features, limits. */
export interface RuntimeInfo {
  serverVersion: string;
  /** New for each start: state does not outlive it. */
  serverInstanceId: string;
  protocolVersions: readonly number[];
  features: readonly string[];
  /** By name; bytes and counts as they are, times in milliseconds (`…Ms`). */
  limits: Readonly<Record<string, number>>;
  draining: boolean;
  /** A new session records calls where it does not say. */
  recorderEnabledByDefault: boolean;
}

export function readRuntimeInfo(read: GetRuntimeInfoResponse): RuntimeInfo {
  const { limits, ...rest } = read;
  return {
    ...rest,
    limits: Object.fromEntries(
      Object.entries(limits ?? {}).flatMap(([name, value]) =>
        typeof value === "object"
          ? [[`${name}Ms`, milliseconds(value) ?? 0]]
          : [[name, Number(value)]],
      ),
    ),
  };
}
