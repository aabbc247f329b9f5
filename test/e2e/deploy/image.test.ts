import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json" with { type: "json" };
import { packImage } from "../../../scripts/pack-image.ts";
import { builtBinary } from "../../support/binary.ts";

const deploy = join(import.meta.dir, "../../../deploy");
const canEnter = Bun.which("chroot") !== null && Bun.spawnSync(["unshare", "-m", "true"]).success;
if (!canEnter) console.warn("The image's root is not entered: this needs the right to unshare -m");

const bytesMax = 150 * 1000 * 1000;

if (process.platform !== "linux") console.warn("The image's root is not laid out: this is no Linux");

test.skipIf(process.platform !== "linux")(
  "all that the image holds is the binary, the C library and three names, below 150 MB, and it runs on that alone",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "modelgate-image-"));
    try {
      const name = packImage(folder, builtBinary(), "1.2.3", "0123abc");
      const layout = unpack(join(folder, name), join(folder, "layout"));
      const blob = async ({ digest, size }: Descriptor) => {
        const path = join(layout, "blobs", digest.replace(":", "/"));
        expect([digest, size]).toEqual([`sha256:${await digestOf(path)}`, statSync(path).size]);
        return path;
      };
      expect(await Bun.file(join(layout, "oci-layout")).json()).toEqual({ imageLayoutVersion: "1.0.0" });
      const { manifests } = await Bun.file(join(layout, "index.json")).json();
      expect(manifests).toMatchObject([{ annotations: { "org.opencontainers.image.ref.name": "1.2.3" } }]);
      const { config, layers } = await Bun.file(await blob(manifests[0])).json();
      const { architecture, os, config: settings, rootfs } = await Bun.file(await blob(config)).json();
      expect([architecture, os]).toEqual([process.arch === "x64" ? "amd64" : "arm64", "linux"]);
      const home = "/var/lib/modelgate";
      expect(settings).toEqual({
        User: "65532:65532",
        Env: ["PATH=/usr/local/bin", `HOME=${home}`, `MODELGATE_HOME=${home}`, "HOST=0.0.0.0"],
        ExposedPorts: { "3000/tcp": {} },
        Volumes: { [home]: {} },
        Healthcheck: {
          Test: ["CMD", "/usr/local/bin/modelgate", "health"],
          Interval: 10e9,
          Timeout: 3e9,
          StartPeriod: 10e9,
        },
        Entrypoint: ["/usr/local/bin/modelgate"],
        Cmd: ["serve"],
        Labels: { "org.opencontainers.image.version": "1.2.3", "org.opencontainers.image.revision": "0123abc" },
      });
      const layer = await blob(layers[0]);
      const tar = Bun.gunzipSync(await Bun.file(layer).bytes());
      expect(rootfs.diff_ids).toEqual([`sha256:${new Bun.CryptoHasher("sha256").update(tar).digest("hex")}`]);
      const owners = Bun.spawnSync(["tar", "--list", "--verbose", "--numeric-owner", "--gzip", "--file", layer]);
      const owned = owners.stdout.toString().matchAll(/^(\S+) 65532\/(\d+) .* (\S+)$/gm);
      expect(Array.from(owned, ([, mode, group, path]) => [mode, group, path])).toEqual([
        ["drwxrwx---", "0", "./var/lib/modelgate/"],
        ["drwxrwxrwt", "65532", "./tmp/"],
      ]);

      const root = unpack(layer, join(folder, "root"));
      const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) =>
        statSync(join(root, path)).isFile(),
      );
      const known =
        /^(usr\/local\/bin\/modelgate|etc\/(passwd|group|nsswitch\.conf)|(usr\/)?lib.*\/(ld-|lib(c|m|dl|pthread)\.so).*)$/;
      expect(files.filter((path) => !known.test(path))).toEqual([]);
      expect(files.reduce((sum, path) => sum + statSync(join(root, path)).size, 0)).toBeLessThan(bytesMax);
      if (!canEnter) return;
      // The program finds itself by /proc, which every container has.
      mkdirSync(join(root, "proc"));
      const enter = 'mount -t proc proc "$1/proc" && exec chroot --userspec="$2" "$1" /usr/local/bin/modelgate "$3" $4';
      const runAs = (user: string, ...command: string[]) => {
        const { exitCode, stdout, stderr } = Bun.spawnSync(
          ["unshare", "-m", "sh", "-c", enter, "sh", root, user, ...command],
          { env: { PATH: process.env.PATH, MODELGATE_HOME: "/var/lib/modelgate" } },
        );
        expect([exitCode, stderr.toString()]).toEqual([0, ""]);
        return stdout.toString();
      };
      expect(runAs("65532:65532", "version")).toStartWith(`modelgate ${version}`);
      // OpenShift chooses a user that the image does not know, in the group 0. It makes the database.
      expect(runAs("1000660000:0", "account", "list")).toStartWith("No accounts yet");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(process.platform !== "linux")("two images of one binary are equal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-image-"));
  try {
    const pack = (name: string) => {
      mkdirSync(join(folder, name));
      return digestOf(
        join(folder, name, packImage(join(folder, name), Bun.which("true") as string, "1.2.3", "0123abc")),
      );
    };
    expect(await pack("one")).toBe(await pack("two"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A part of an image, as another names it. */
interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

function unpack(archive: string, into: string): string {
  mkdirSync(into);
  const { exitCode, stderr } = Bun.spawnSync(["tar", "--extract", "--file", archive, "--directory", into]);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return into;
}

async function digestOf(path: string): Promise<string> {
  return new Bun.CryptoHasher("sha256").update(await Bun.file(path).bytes()).digest("hex");
}

const hadolint = Bun.which("hadolint");
if (hadolint === null) console.warn("The Dockerfile is not linted: there is no hadolint here");

test.skipIf(hadolint === null)("hadolint finds no fault with the Dockerfile", () => {
  const { exitCode, stdout } = Bun.spawnSync([hadolint as string, join(deploy, "Dockerfile")]);
  expect([exitCode, stdout.toString()]).toEqual([0, ""]);
});
