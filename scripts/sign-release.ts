import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where the files of a release come from. */
export interface ReleaseOrigin {
  readonly repository: string;
  readonly commit: string;
  readonly version: string;
  /** Version of Bun, which compiles the binaries. */
  readonly bun: string;
}

const provenanceName = "provenance.intoto.json";
const sumsName = "SHA256SUMS";

/**
 * Writes the provenance of a release (an in-toto statement with SLSA's predicate) and the SHA256SUMS of all files. With
 * a key it also writes `SHA256SUMS.sig`, an Ed25519 signature of the sums, which cover the provenance, and the public
 * key.
 *
 * @param key A private Ed25519 key as PEM; absent: nothing is signed.
 */
export function finishRelease(
  folder: string,
  names: readonly string[],
  { origin, key }: { origin: ReleaseOrigin; key: string | undefined },
): void {
  const digestOf = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  const { repository, commit, version, bun } = origin;
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: names.map((name) => ({ name, digest: { sha256: digestOf(name) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: `${repository}/release@v1`,
        externalParameters: { version, command: "bun run release" },
        resolvedDependencies: [
          { uri: `git+${repository}`, digest: { gitCommit: commit } },
          { uri: `pkg:npm/bun@${bun}` },
        ],
      },
      runDetails: { builder: { id: `${repository}/scripts/release.bun.ts` } },
    },
  };
  writeFileSync(join(folder, provenanceName), `${JSON.stringify(statement, null, 2)}\n`);
  const sums = [...names, provenanceName].map((name) => `${digestOf(name)}  ${name}\n`).join("");
  writeFileSync(join(folder, sumsName), sums);
  if (key === undefined) return;
  const privateKey = createPrivateKey(key);
  if (privateKey.asymmetricKeyType !== "ed25519") throw new Error("RELEASE_KEY is no Ed25519 key");
  writeFileSync(join(folder, `${sumsName}.sig`), sign(null, Buffer.from(sums), privateKey));
  const pem = createPublicKey(privateKey).export({ type: "spki", format: "pem" });
  writeFileSync(join(folder, "modelgate.pub.pem"), pem);
}
