/** Reads what the sidecar adds to an error status: `google.rpc.Status` in a trailer. */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { milliseconds } from "./durations.js";
import type { FieldViolation } from "./errors.js";
import { Duration } from "./gen/google/protobuf/duration.js";

/** The details that this library uses: ErrorInfo, BadRequest and RetryInfo. */
export interface StatusDetails {
  reason?: string;
  fieldViolations: FieldViolation[];
  retryDelayMs?: number | undefined;
}

/** The details in the trailer `grpc-status-details-bin`; none where there is no such trailer. */
export function readStatusDetails(trailer: string | Buffer | undefined): StatusDetails {
  const details: StatusDetails = { fieldViolations: [] };
  if (!Buffer.isBuffer(trailer)) {
    return details;
  }
  for (const any of fieldsOf(trailer, 3)) {
    const [type = new Uint8Array()] = fieldsOf(any, 1);
    const [value = new Uint8Array()] = fieldsOf(any, 2);
    switch (text(type).split("/").at(-1)) {
      case "google.rpc.ErrorInfo":
        details.reason = text(fieldsOf(value, 1)[0]);
        break;
      case "google.rpc.BadRequest":
        details.fieldViolations = fieldsOf(value, 1).map((violation) => ({
          field: text(fieldsOf(violation, 1)[0]),
          description: text(fieldsOf(violation, 2)[0]),
        }));
        break;
      case "google.rpc.RetryInfo":
        details.retryDelayMs = milliseconds(
          Duration.decode(fieldsOf(value, 1)[0] ?? new Uint8Array()),
        );
        break;
    }
  }
  return details;
}

/** All values of one length-delimited field of a serialised message. */
function fieldsOf(message: Uint8Array, number: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === number) {
      found.push(reader.bytes());
    } else {
      reader.skip(wireType);
    }
  }
  return found;
}

function text(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : Buffer.from(bytes).toString();
}
