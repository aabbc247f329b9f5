import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const deploy = join(import.meta.dir, "../deploy");
/** Equal input makes equal archives: names in order, no times, no users of this machine. */
const steady = ["--sort=name", "--mtime=@0", "--numeric-owner", "--format=ustar"];
/** The user in whose name the image runs; `make-image-root.sh` writes it into /etc/passwd. */
const user = 65532;

/** The chart as `helm package` names it: `modelgate-VERSION.tgz` in `folder`. @returns The file's name. */
export function packChart(folder: string, version: string): string {
  const name = `modelgate-${version}.tgz`;
  const archive = tar(
    "--create",
    "--file=-",
    // The alert rules are a symbolic link to deploy/prometheus.
    "--dereference",
    "--owner=0",
    "--group=0",
    "--directory",
    join(deploy, "helm"),
    "modelgate",
  );
  writeFileSync(join(folder, name), Bun.gzipSync(archive));
  return name;
}

/**
 * The image as an OCI archive, which `docker load`, `podman load`, `skopeo copy oci-archive:…` and registries take. It holds
 * what `deploy/Dockerfile` puts into the image, and runs as its last stage says.
 *
 * @param binary A binary for Linux and the processor of this machine, whose C library goes into the image.
 * @returns The file's name.
 * @see {@link https://github.com/opencontainers/image-spec/blob/main/image-layout.md}
 */
export function packImage(folder: string, binary: string, version: string, commit: string): string {
  const name = `modelgate-${version}-linux-${process.arch}.oci.tar`;
  const work = mkdtempSync(join(tmpdir(), "modelgate-image-"));
  try {
    const layout = join(work, "layout");
    const blobs = join(layout, "blobs/sha256");
    mkdirSync(blobs, { recursive: true });
    const addBlob = (mediaType: string, bytes: Uint8Array<ArrayBuffer>) => {
      writeFileSync(join(blobs, digestOf(bytes)), bytes);
      return { mediaType, digest: `sha256:${digestOf(bytes)}`, size: bytes.length };
    };
    const addJson = (mediaType: string, value: unknown) => addBlob(mediaType, Buffer.from(JSON.stringify(value)));

    const files = packRoot(work, binary);
    const config = addJson("application/vnd.oci.image.config.v1+json", {
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: {
        ...readLastStage(readFileSync(join(deploy, "Dockerfile"), "utf8")),
        Labels: { "org.opencontainers.image.version": version, "org.opencontainers.image.revision": commit },
      },
      rootfs: { type: "layers", diff_ids: [`sha256:${digestOf(files)}`] },
    });
    const layer = addBlob("application/vnd.oci.image.layer.v1.tar+gzip", Bun.gzipSync(files));
    const manifestType = "application/vnd.oci.image.manifest.v1+json";
    const manifest = addJson(manifestType, { schemaVersion: 2, mediaType: manifestType, config, layers: [layer] });
    const annotations = {
      "io.containerd.image.name": `docker.io/library/modelgate:${version}`,
      "org.opencontainers.image.ref.name": version,
    };
    const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations }] };
    writeFileSync(join(layout, "index.json"), JSON.stringify(index));
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    const archive = tar("--create", "--file=-", "--owner=0", "--group=0", "--directory", layout, ".");
    writeFileSync(join(folder, name), archive);
    return name;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Packs the image's files as a tar. Only the home and /tmp belong to the user. The group of the home is 0, which the arbitrary
 * users of OpenShift are in.
 */
function packRoot(work: string, binary: string): Uint8Array<ArrayBuffer> {
  const root = join(work, "root");
  run("sh", join(deploy, "make-image-root.sh"), binary, root);
  const file = join(work, "root.tar");
  const own = [
    { path: "var/lib/modelgate", group: 0 },
    { path: "tmp", group: user },
  ];
  const others = own.map(({ path }) => `--exclude=./${path}`);
  tar("--create", `--file=${file}`, "--owner=0", "--group=0", ...others, "--directory", root, ".");
  for (const { path, group } of own) {
    tar("--append", `--file=${file}`, `--owner=${user}`, `--group=${group}`, "--directory", root, `./${path}`);
  }
  return readFileSync(file);
}

/** How a container of the Dockerfile's last stage runs, in the words of the image's configuration. */
function readLastStage(dockerfile: string): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  const stage = dockerfile.slice(dockerfile.lastIndexOf("\nFROM ") + 1);
  for (const line of stage.split("\n").slice(1)) {
    const [, word = "", rest = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (word === "USER") config.User = rest;
    else if (word === "ENV") config.Env = ["PATH=/usr/local/bin", ...rest.split(" ")];
    else if (word === "EXPOSE") config.ExposedPorts = { [`${rest}/tcp`]: {} };
    else if (word === "VOLUME") config.Volumes = { [rest]: {} };
    else if (word === "ENTRYPOINT") config.Entrypoint = JSON.parse(rest);
    else if (word === "CMD") config.Cmd = JSON.parse(rest);
    else if (word === "HEALTHCHECK") config.Healthcheck = readHealthCheck(rest);
    else if (word !== "" && word !== "COPY") throw new Error(`The image does not know ${word} of the Dockerfile`);
  }
  return config;
}

/** Docker's own part of the configuration; durations are nanoseconds. */
function readHealthCheck(text: string): Record<string, unknown> {
  const seconds = (option: string) => {
    const value = new RegExp(`--${option}=(\\d+)s`).exec(text)?.[1];
    if (value === undefined) throw new Error(`HEALTHCHECK of the Dockerfile has no ${option} in seconds`);
    return Number(value) * 1e9;
  };
  const test = JSON.parse(text.slice(text.indexOf("CMD ") + 4));
  const times = { Interval: seconds("interval"), Timeout: seconds("timeout"), StartPeriod: seconds("start-period") };
  return { Test: ["CMD", ...test], ...times };
}

const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const tar = (...words: string[]) => run("tar", ...steady, ...words);

function run(...command: string[]): Uint8Array<ArrayBuffer> {
  const { success, stdout, stderr } = Bun.spawnSync(command);
  if (!success) throw new Error(`Cannot run ${command[0]}: ${stderr}`);
  return new Uint8Array(stdout);
}
