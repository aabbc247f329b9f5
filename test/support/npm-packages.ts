import { mkdirSync } from "node:fs";
import { type Prepared, prepareOnce, runStep } from "./prepare-once.ts";

/**
 * Installs pinned packages from npm for tests alone: what is too large, or comes with too much of its own, for the
 * project's `package.json`. A machine without a way to the registry is not at fault: the reason is returned to be printed.
 */
export function prepareNpmPackages(name: string, ...packages: string[]): Promise<Prepared> {
  return prepareOnce(`${name}-${packages.join("-")}`, async (folder) => {
    mkdirSync(folder, { recursive: true });
    const options = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--fetch-retries", "1"];
    return await runStep(["npm", "install", "--prefix", folder, ...options, ...packages], folder);
  });
}
