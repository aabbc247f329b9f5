import { existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = join(tmpdir(), `modelgate-binary-${process.pid}`);

/** The compiled gateway, built once a run, apart from `dist`, which may be somebody's. */
export function builtBinary(): string {
  const binary = join(folder, "modelgate");
  if (existsSync(binary)) return binary;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const script = join(import.meta.dir, "../../src/cli/build.bun.ts");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, script, binary]);
  if (exitCode !== 0) throw new Error(`The build ended with ${exitCode}: ${stderr}`);
  return binary;
}
