import { join } from "node:path";
import { gateEnv, gateRoot } from "../subjects.ts";
import { type Contender, key } from "./contender.ts";
import { versionOf } from "./install.ts";

const on = "nothing";

/** The gateway as it is installed: one binary, built from what stands here. */
export async function builtGate(binary: string): Promise<Contender> {
  const script = join(gateRoot, "src/cli/build.bun.ts");
  const child = Bun.spawn([process.execPath, script, binary], { stdout: "ignore", stderr: "pipe", timeout: 120_000 });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`The binary could not be built: ${said.slice(-500)}`);
  return gateOf("modelgate", [binary]);
}

export function sourceGate(): Promise<Contender> {
  return gateOf("modelgate from source", [process.execPath, join(gateRoot, "src/main.ts")]);
}

async function gateOf(name: string, program: string[]): Promise<Contender> {
  const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"], { cwd: gateRoot, stderr: "ignore" });
  return {
    name,
    version: `${git.success ? git.stdout.toString().trim() : "unknown commit"}, Bun ${Bun.version}`,
    isOurs: true,
    without: on,
    commandAt: async ({ port, provider, folder }) => ({
      command: [...program, "serve"],
      env: gateEnv({ home: join(folder, "home"), port, provider, key }),
    }),
  };
}

/** What any proxy written for Bun must cost. */
export async function bareProxy(): Promise<Contender> {
  return {
    name: "bare Bun proxy",
    version: await versionOf(process.execPath, "--version"),
    without: "everything: it reads no body",
    commandAt: async ({ port, provider }) => ({
      command: [process.execPath, join(import.meta.dir, "../bare.ts"), provider, String(port)],
    }),
  };
}
