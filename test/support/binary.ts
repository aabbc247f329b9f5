import { existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Names the binary that `test/run.ts` has built, which the gateways of the tests then are; empty: they run from source. */
export const binaryVariable = "MODELGATE_BINARY";

const given = process.env[binaryVariable];
const folder = join(tmpdir(), `modelgate-binary-${process.pid}`);

/** The compiled gateway, built once a run, apart from `dist`, which may be somebody's. */
export function builtBinary(): string {
  if (given) return given;
  const binary = join(folder, "modelgate");
  if (existsSync(binary)) return binary;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  buildBinary(binary);
  return binary;
}

/** Compiles the gateway as `npm run build` does. @throws With the words of the bundler. */
export function buildBinary(path: string): void {
  const script = join(import.meta.dir, "../../scripts/build.bun.ts");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, script, path]);
  if (exitCode !== 0) throw new Error(`The build ended with ${exitCode}: ${stderr}`);
}
