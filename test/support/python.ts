import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { isLong } from "./long.ts";
import { type Prepared, prepareMsMax, prepareOnce, runStep } from "./prepare-once.ts";

/** A Python that has the wanted packages, or why there is none here. */
export type Python = { command: string; missing?: undefined } | { command?: undefined; missing: string };

const pipInstall = [
  "-m",
  "pip",
  "install",
  "--quiet",
  "--disable-pip-version-check",
  // Python compiles what it imports, which is a part of it.
  "--no-compile",
  "--retries",
  "1",
  "--timeout",
  "20",
];

/** Clients of several test files, which share one environment; agents and wrappers of the former in the long form alone. */
const clients = [
  "openai==3.52.0",
  "websockets==15.0.1",
  "anthropic==2.12.0",
  ...(isLong ? ["openai-agents==0.24.0", "llm==0.36"] : []),
];

/** How long that may take: another file's turn, and two steps of one's own. */
export const pythonClientsMsMax = 5 * prepareMsMax;

/** Makes the environment of `clients`, once for all files. */
export async function preparePythonClients(): Promise<Python> {
  const python = await preparePython("python-clients", ...clients);
  if (python.command !== undefined) await keepCompiled(dirname(dirname(python.command)));
  return python;
}

/** Has an environment keep what it compiles, also where the machine's settings forbid that: it is half of what a start takes. */
async function keepCompiled(folder: string): Promise<void> {
  const [packages = ""] = new Bun.Glob("lib/python*/site-packages").scanSync({ cwd: folder, onlyFiles: false });
  await Bun.write(join(folder, packages, "keep-compiled.pth"), "import sys; sys.dont_write_bytecode = False\n");
}

/**
 * Makes a virtual environment with pinned packages. A machine without Python, pip or a way to the package index is not
 * at fault: the reason is returned to be printed.
 *
 * @param packages Names with versions, or one file `….txt` that lists all that is needed.
 */
export async function preparePython(name: string, ...packages: string[]): Promise<Python> {
  if (Bun.which("python3") === null) return { missing: "There is no python3 on this machine" };
  const [file = ""] = packages;
  const isFile = file.endsWith(".txt");
  const id = isFile ? Bun.hash(readFileSync(file)).toString(36) : packages.join("-").replaceAll("=", "");
  const wanted = isFile ? ["--no-deps", "--requirement", file] : packages;
  const { folder, missing } = await prepareOnce(`${name}-${id}`, async (made) => {
    const pip = await preparePip();
    if (pip.folder === undefined) return pip.missing;
    const install = [
      "env",
      `PYTHONPATH=${join(pip.folder, "alone")}`,
      join(made, "bin/python"),
      ...pipInstall,
      ...wanted,
    ];
    return (await runStep(["python3", "-m", "venv", "--without-pip", made])) ?? (await runStep(install));
  });
  return folder === undefined ? { missing } : { command: join(folder, "bin/python") };
}

/**
 * Takes the machine's pip for all environments, or installs it once, which takes 6 s of CPU. What else stands beside it, no environment
 * is to see.
 */
function preparePip(): Promise<Prepared> {
  return prepareOnce("python-pip", async (folder) => {
    const own = Bun.spawnSync(["python3", "-c", "import pip; print(pip.__path__[0])"]);
    if (own.exitCode === 0) {
      // A copy outlives the Python that it is of.
      cpSync(own.stdout.toString().trim(), join(folder, "alone/pip"), { recursive: true, dereference: true });
      // One that is made of parts of the system does not run without them.
      const runs = ["env", `PYTHONPATH=${join(folder, "alone")}`, "python3", "-S", "-m", "pip", "--version"];
      if ((await runStep(runs)) === undefined) return undefined;
      rmSync(join(folder, "alone"), { recursive: true });
    }
    const failure = await runStep(["python3", "-m", "venv", folder]);
    if (failure !== undefined) return failure;
    const [pip] = new Bun.Glob("lib/python*/site-packages/pip/__init__.py").scanSync(folder);
    if (pip === undefined) return "The virtual environment has no pip";
    mkdirSync(join(folder, "alone"));
    symlinkSync(join("..", dirname(pip)), join(folder, "alone/pip"));
    return undefined;
  });
}
