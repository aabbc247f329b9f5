import { join } from "node:path";
import { prepareOnce, runStep } from "./prepare-once.ts";

/** A Python that has the wanted packages, or why there is none here. */
export type Python = { command: string; missing?: undefined } | { command?: undefined; missing: string };

const pipInstall = "-m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20".split(" ");

/**
 * Makes a virtual environment with pinned packages. A machine without Python, pip or a way to the package index is not
 * at fault: the reason is returned to be printed.
 */
export async function preparePython(name: string, ...packages: string[]): Promise<Python> {
  if (Bun.which("python3") === null) return { missing: "There is no python3 on this machine" };
  const { folder, missing } = await prepareOnce(`${name}-${packages.join("-").replaceAll("=", "")}`, async (made) => {
    const python = join(made, "bin/python");
    return (await runStep(["python3", "-m", "venv", made])) ?? (await runStep([python, ...pipInstall, ...packages]));
  });
  return folder === undefined ? { missing } : { command: join(folder, "bin/python") };
}
