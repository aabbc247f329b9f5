import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dependencies, version } from "../../../package.json" with { type: "json" };
import { releaseTargets } from "../../../scripts/build.bun.ts";

const root = join(import.meta.dir, "../../..");
const script = join(root, "scripts/release.bun.ts");

test("the Bun of every machine is in the lockfile, with its hash and of this version", async () => {
  const lock = await Bun.file(join(root, "bun.lock")).text();
  for (const { runtime } of releaseTargets) {
    const name = runtime.split("/").slice(0, 2).join("/");
    const line = lock.split("\n").find((text) => text.includes(`"${name}": [`));
    expect(line).toContain(`"${name}@${dependencies.bun}"`);
    expect(line).toMatch(/"sha512-[\w+/=]{88}"\],$/);
  }
});

test("a machine that there is no binary for is refused with those there are", () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, script, "--only", "linux-x64,amiga"]);
  expect(exitCode).toBe(1);
  const names = releaseTargets.map(({ name }) => name).join(", ");
  expect(stderr.toString()).toContain(`Cannot build for 'amiga': expected some of ${names}`);
});

const isLong = process.env.LONG === "1";
if (!isLong) console.warn("The binaries of all machines are not built: this is for LONG=1");

/** The first bytes of what each system runs. */
const magic: Readonly<Record<string, string>> = { linux: "7f454c46", darwin: "cffaedfe", windows: "4d5a" };

test.skipIf(!isLong)(
  "a release has a binary for each machine, a chart, an image, a bill of materials, and their sums",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "modelgate-release-"));
    try {
      const { exitCode, stderr } = Bun.spawnSync([process.execPath, script, folder]);
      expect([exitCode, stderr.toString()]).toEqual([0, ""]);
      const sums = (await Bun.file(join(folder, "SHA256SUMS")).text()).trimEnd().split("\n");
      expect(sums.map((line) => line.split("  ")[1])).toEqual([
        ...releaseTargets.map(({ name }) => `modelgate-${name}`),
        "modelgate.cdx.json",
        `modelgate-${version}.tgz`,
        ...(process.platform === "linux" ? [`modelgate-${version}-linux-${process.arch}.oci.tar`] : []),
        "provenance.intoto.json",
      ]);
      for (const line of sums) {
        const [sum, name = ""] = line.split("  ");
        const bytes = await Bun.file(join(folder, name)).bytes();
        expect(new Bun.CryptoHasher("sha256").update(bytes).digest("hex")).toBe(sum as string);
        const system = releaseTargets.some((target) => name === `modelgate-${target.name}`) && name.split("-")[1];
        if (system) expect(bytes.subarray(0, 4).toHex()).toStartWith(magic[system] as string);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  600_000,
);
