import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";

const cache = join(import.meta.dir, "../../node_modules/.cache");
const installMsMax = 240_000;

/** A Python that has the wanted packages, or why there is none here. */
export type Python = { command: string; missing?: undefined } | { command?: undefined; missing: string };

/**
 * Makes a virtual environment below `node_modules/.cache` with pinned packages, once; later runs find it there, and who
 * wants the same one meanwhile waits for it. A machine without Python, pip or a way to the package index is not at
 * fault: the reason is returned to be printed.
 *
 * @param packages Names with versions, or one file `….txt` that lists all that is needed.
 */
export async function preparePython(name: string, ...packages: string[]): Promise<Python> {
  const [file = ""] = packages;
  const isFile = file.endsWith(".txt");
  const id = isFile ? Bun.hash(readFileSync(file)).toString(36) : packages.join("-").replaceAll("=", "");
  const folder = join(cache, `${name}-${id}`);
  const command = join(folder, "bin/python");
  const isReady = () => existsSync(join(folder, "ready"));
  if (isReady()) return { command };
  if (Bun.which("python3") === null) return { missing: "There is no python3 on this machine" };
  mkdirSync(cache, { recursive: true });
  const lock = `${folder}.lock`;
  await until(() => isReady() || take(lock), 3 * installMsMax);
  try {
    return isReady()
      ? { command }
      : await install(folder, command, isFile ? ["--no-deps", "--requirement", file] : packages);
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
    if (Date.now() - since > 2 * installMsMax) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

async function install(folder: string, command: string, packages: readonly string[]): Promise<Python> {
  const steps = [
    ["python3", "-m", "venv", folder],
    [
      command,
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      "--retries",
      "1",
      "--timeout",
      "20",
      ...packages,
    ],
  ];
  for (const step of steps) {
    const { code, said } = await run(step);
    if (code === 0) continue;
    rmSync(folder, { recursive: true, force: true });
    return { missing: `Cannot prepare Python: ${step.slice(1, 4).join(" ")} ended with ${code}: ${said.slice(-200)}` };
  }
  await Bun.write(join(folder, "ready"), "");
  return { command };
}

async function run(command: string[]): Promise<{ code: number; said: string }> {
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe", timeout: installMsMax });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  return { code, said: said.trim() };
}
