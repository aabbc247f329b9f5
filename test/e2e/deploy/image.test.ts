import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json" with { type: "json" };
import { builtBinary } from "../../support/binary.ts";

const deploy = join(import.meta.dir, "../../../deploy");
const canEnter = Bun.which("chroot") !== null && Bun.spawnSync(["unshare", "-m", "true"]).success;
if (!canEnter) console.warn("The image's root is not entered: this needs the right to unshare -m");

const bytesMax = 150 * 1000 * 1000;

if (process.platform !== "linux") console.warn("The image's root is not laid out: this is no Linux");

test.skipIf(process.platform !== "linux")(
  "all that the image holds is the binary, the C library and three names, below 150 MB, and it runs on that alone",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "modelgate-image-"));
    try {
      const root = join(folder, "root");
      const made = Bun.spawnSync(["sh", join(deploy, "make-image-root.sh"), builtBinary(), root]);
      expect([made.exitCode, made.stderr.toString()]).toEqual([0, ""]);
      const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
        statSync(join(root, name)).isFile(),
      );
      const known =
        /^(usr\/local\/bin\/modelgate|etc\/(passwd|group|nsswitch\.conf)|(usr\/)?lib.*\/(ld-|lib(c|m|dl|pthread)\.so).*)$/;
      expect(files.filter((name) => !known.test(name))).toEqual([]);
      expect(files.reduce((sum, name) => sum + statSync(join(root, name)).size, 0)).toBeLessThan(bytesMax);
      if (!canEnter) return;
      // The program finds itself by /proc, which every container has.
      mkdirSync(join(root, "proc"));
      const enter =
        'mount -t proc proc "$1/proc" && exec chroot --userspec=65532:65532 "$1" /usr/local/bin/modelgate "$2"';
      const { exitCode, stdout, stderr } = Bun.spawnSync(["unshare", "-m", "sh", "-c", enter, "sh", root, "version"]);
      expect([exitCode, stderr.toString()]).toEqual([0, ""]);
      expect(stdout.toString()).toStartWith(`modelgate ${version}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

const hadolint = Bun.which("hadolint");
if (hadolint === null) console.warn("The Dockerfile is not linted: there is no hadolint here");

test.skipIf(hadolint === null)("hadolint finds no fault with the Dockerfile", () => {
  const { exitCode, stdout } = Bun.spawnSync([hadolint as string, join(deploy, "Dockerfile")]);
  expect([exitCode, stdout.toString()]).toEqual([0, ""]);
});
