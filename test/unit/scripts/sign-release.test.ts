import { afterAll, expect, test } from "bun:test";
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finishRelease } from "../../../scripts/sign-release.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-sign-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const origin = {
  repository: "https://github.com/modelgate/modelgate",
  commit: "0".repeat(40),
  version: "1.0.0",
  bun: "1.4.5",
};
const read = (name: string) => readFileSync(join(folder, name));

test("the sums of a release cover its files and its provenance, and are signed by the key of the release", () => {
  writeFileSync(join(folder, "modelgate-linux-x64"), "a binary");
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  finishRelease(folder, ["modelgate-linux-x64"], { origin, key });
  const digest = createHash("sha256").update("a binary").digest("hex");
  const statement = JSON.parse(read("provenance.intoto.json").toString());
  expect(statement.subject).toEqual([{ name: "modelgate-linux-x64", digest: { sha256: digest } }]);
  expect(statement.predicate.buildDefinition.resolvedDependencies[0].digest).toEqual({ gitCommit: origin.commit });
  const sums = read("SHA256SUMS");
  const ofProvenance = createHash("sha256").update(read("provenance.intoto.json")).digest("hex");
  expect(sums.toString()).toBe(`${digest}  modelgate-linux-x64\n${ofProvenance}  provenance.intoto.json\n`);
  expect(verify(null, sums, publicKey, read("SHA256SUMS.sig"))).toBe(true);
  expect(verify(null, Buffer.concat([sums, Buffer.from(" ")]), publicKey, read("SHA256SUMS.sig"))).toBe(false);
  expect(read("modelgate.pub.pem").toString()).toBe(publicKey.export({ type: "spki", format: "pem" }) as string);
});

test("a key of another kind is refused", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  expect(() => finishRelease(folder, ["modelgate-linux-x64"], { origin, key })).toThrow("no Ed25519 key");
});
