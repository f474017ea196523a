/** Milliseconds here, google.protobuf.Duration on the wire. */
import { Duration } from "./gen/google/protobuf/duration.js";

/** The message of a time in milliseconds, fractions included; undefined stays undefined. */
export function wireDuration(milliseconds: number): Duration;
export function wireDuration(milliseconds: number | undefined): Duration | undefined;
export function wireDuration(milliseconds: number | undefined): Duration | undefined {
  if (milliseconds === undefined) {
    return undefined;
  }
  const nanos = Math.round(milliseconds * 1e6);
  return Duration.create({ seconds: BigInt(Math.trunc(nanos / 1e9)), nanos: nanos % 1e9 });
}

/** The time of a message in milliseconds; undefined stays undefined. */
export function milliseconds(duration: Duration | undefined): number | undefined {
  return duration && Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}
