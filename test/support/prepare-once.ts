import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";

const cache = join(import.meta.dir, "../../node_modules/.cache");
/** How long a preparation may take. */
export const prepareMsMax = 240_000;

/** A folder that is ready, or why it cannot be made here. */
export type Prepared = { folder: string; missing?: undefined } | { folder?: undefined; missing: string };

/**
 * Fills a folder once: who wants the same one meanwhile waits for it.
 *
 * @param fill Returns why it failed, if it did.
 * @param parent By default `node_modules/.cache`, where later runs find it.
 */
export async function prepareOnce(
  name: string,
  fill: (folder: string) => Promise<string | undefined>,
  parent = cache,
): Promise<Prepared> {
  const folder = join(parent, name.replace(/[^\w.-]/g, "_"));
  const isReady = () => existsSync(join(folder, "ready"));
  if (isReady()) return { folder };
  mkdirSync(parent, { recursive: true });
  const lock = `${folder}.lock`;
  await until(() => isReady() || take(lock), 3 * prepareMsMax);
  try {
    if (isReady()) return { folder };
    const missing = await fill(folder);
    if (missing === undefined) await Bun.write(join(folder, "ready"), "");
    else rmSync(folder, { recursive: true, force: true });
    return missing === undefined ? { folder } : { missing };
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** Whether it is ours now; one of a run that was killed is taken over. */
function take(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > 2 * prepareMsMax) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

/** Runs a command that prepares something. Returns why it failed, if it did. */
export async function runStep(command: string[], cwd = "."): Promise<string | undefined> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe", timeout: prepareMsMax });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  return code === 0 ? undefined : `${command.slice(0, 4).join(" ")} ended with ${code}: ${said.trim().slice(-200)}`;
}
