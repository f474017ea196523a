/** Files for mutual TLS: an authority, and what it has signed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "selfsigned";

const EC = { keyType: "ec", algorithm: "sha256" } as const;

/** Writes `ca.pem`, and `server` and `client` as `.pem` and `.key`; gives a file's path. */
export async function writeCertificates(folder: string): Promise<(name: string) => string> {
  const path = (name: string) => join(folder, name);
  const authority = await generate([{ name: "commonName", value: "authority" }], {
    ...EC,
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
  writeFileSync(path("ca.pem"), authority.cert);
  for (const name of ["server", "client"]) {
    const signed = await generate([{ name: "commonName", value: name }], {
      ...EC,
      ca: { key: authority.private, cert: authority.cert },
      extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
    });
    writeFileSync(path(`${name}.pem`), signed.cert);
    writeFileSync(path(`${name}.key`), signed.private, { mode: 0o600 });
  }
  return path;
}
