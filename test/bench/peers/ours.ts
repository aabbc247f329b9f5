import { join } from "node:path";
import { bareEnv, gateEnv, gateRoot, trusting } from "../subjects.ts";
import { type Contender, key } from "./contender.ts";
import { versionOf } from "./install.ts";

/** The gateway from its source, with all of its features. */
export async function ours(): Promise<Contender> {
  const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"], { cwd: gateRoot, stderr: "ignore" });
  return {
    name: "modelgate",
    version: `${git.success ? git.stdout.toString().trim() : "unknown commit"}, Bun ${Bun.version}`,
    without: "nothing",
    hasKeys: true,
    commandAt: async (place) => ({
      command: [process.execPath, join(gateRoot, "src/main.ts"), "serve"],
      env: { ...gateEnv({ ...place, home: join(place.folder, "home"), key }), ...trusting(place) },
    }),
  };
}

/** What any proxy written for Bun must cost. */
export async function bareProxy(): Promise<Contender> {
  return {
    name: "bare",
    version: `Bun ${await versionOf(process.execPath, "--version")}`,
    without: "everything: it reads no body",
    commandAt: async (place) => ({
      command: [process.execPath, join(import.meta.dir, "../bare.ts"), place.provider, String(place.port)],
      env: bareEnv(place),
    }),
  };
}
