import { afterAll, beforeAll, expect } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine, type Gateway, startGateway } from "../../support/gateway.ts";

/** A running gateway and a shell in its user's home, where `modelgate` is on the PATH and `~/.modelgate` the gateway's. */
export interface GatewayShell {
  gateway: Gateway;
  /** Runs a block of a page; port and key are the gateway's in place of the example's. @throws When a command fails. */
  follow(block: string): Promise<string>;
}

/** Starts one before the tests of the calling file and ends it after them; its members are there once tests run. */
export function gatewayShell(options: { env: Record<string, string> | (() => Record<string, string>) }): GatewayShell {
  const user = mkdtempSync(join(tmpdir(), "modelgate-user-"));
  const home = join(user, ".modelgate");
  const shell = {} as GatewayShell;
  const envOf = () => (typeof options.env === "function" ? options.env() : options.env);
  beforeAll(async () => {
    mkdirSync(home);
    const quoted = commandLine().map((word) => `'${word}'`);
    writeFileSync(join(user, "modelgate"), `#!/bin/sh\nexec ${quoted.join(" ")} "$@"\n`);
    chmodSync(join(user, "modelgate"), 0o755);
    shell.gateway = await startGateway({ home, env: envOf() });
    shell.follow = (block) => follow(block, user, { gateway: shell.gateway, env: envOf() });
  });
  afterAll(async () => {
    await shell.gateway?.stop();
    rmSync(user, { recursive: true, force: true });
  });
  return shell;
}

async function follow(
  block: string,
  user: string,
  { gateway, env }: { gateway: Gateway; env: Record<string, string> },
): Promise<string> {
  const script = block.replaceAll("127.0.0.1:3000", new URL(gateway.origin).host).replace("=…", "=key-of-provider");
  const child = Bun.spawn(["sh", "-e", "-c", script], {
    cwd: user,
    env: { ...env, PATH: `${user}:${process.env.PATH}`, HOME: user, MODELGATE_KEY: gateway.key },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ block, code, stderr }).toEqual({ block, code: 0, stderr: "" });
  return stdout;
}
