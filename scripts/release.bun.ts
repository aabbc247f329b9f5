import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildCommand, type ReleaseTarget, releaseTargets, root } from "./build.bun.ts";
import { packChart, packImage } from "./pack-image.ts";
import { createSbom } from "./sbom.bun.ts";
import { finishRelease } from "./sign-release.ts";

/**
 * Builds the files of a release: a binary for each platform, the chart, on Linux the image for this machine's processor, the
 * software bill of materials, the provenance and the SHA256SUMS of all, signed where RELEASE_KEY names the file of an Ed25519
 * key: `bun run release [--only linux-x64,darwin-arm64] [folder]`. The Bun of each platform is an npm package of the same
 * version; bun.lock pins it with its hash.
 */
const sbomName = "modelgate.cdx.json";
const { targets, folder } = readArguments(process.argv.slice(2));
mkdirSync(folder, { recursive: true });
const runtimes = mkdtempSync(join(tmpdir(), "modelgate-runtimes-"));
try {
  install(runtimes);
  const { version, repository } = await Bun.file(join(root, "package.json")).json();
  const commit = Bun.spawnSync(["git", "rev-parse", "HEAD"], { cwd: root }).stdout.toString().trim();
  const names = targets.map(({ name }) => `modelgate-${name}`);
  for (const [index, { target, runtime }] of targets.entries()) {
    const executablePath = join(runtimes, "node_modules", runtime);
    const command = buildCommand(join(folder, names[index] as string), { target, executablePath });
    const { success, stdout, stderr } = Bun.spawnSync(command);
    if (!success) throw new Error(`Cannot build ${names[index]}: ${stderr}`);
    process.stdout.write(stdout);
  }
  const others = [sbomName, packChart(folder, version)];
  const ownBinary = `modelgate-linux-${process.arch}`;
  // The image takes the C library of this machine.
  if (process.platform === "linux" && names.includes(ownBinary)) {
    others.push(packImage(folder, join(folder, ownBinary), version, commit));
  }
  writeFileSync(join(folder, sbomName), await createSbom());
  const origin = {
    repository: `https://github.com/${repository.replace("github:", "")}`,
    commit,
    version,
    bun: Bun.version,
  };
  const keyFile = process.env.RELEASE_KEY;
  const key = keyFile === undefined ? undefined : await Bun.file(keyFile).text();
  finishRelease(folder, [...names, ...others], { origin, key });
} finally {
  rmSync(runtimes, { recursive: true, force: true });
}

function readArguments(words: string[]): { targets: readonly ReleaseTarget[]; folder: string } {
  const only = words[0] === "--only" ? (words.splice(0, 2)[1] ?? "").split(",") : undefined;
  const unknown = only?.find((target) => releaseTargets.every(({ name }) => name !== target));
  if (unknown !== undefined) {
    const targetNames = releaseTargets.map(({ name }) => name).join(", ");
    throw new Error(`Cannot build for '${unknown}': expected some of ${targetNames}`);
  }
  const targets = releaseTargets.filter(({ name }) => only === undefined || only.includes(name));
  return { targets, folder: resolve(words[0] ?? join(root, "dist/release")) };
}

/** Installs the packages of all platforms from the lockfile, without running their scripts. */
function install(into: string): void {
  for (const name of ["package.json", "bun.lock"]) copyFileSync(join(root, name), join(into, name));
  const flags = ["--frozen-lockfile", "--production", "--ignore-scripts", "--os=*", "--cpu=*"];
  const { success, stderr } = Bun.spawnSync([process.execPath, "install", ...flags], { cwd: into });
  if (!success) throw new Error(`Cannot install Bun for the other platforms: ${stderr}`);
}
