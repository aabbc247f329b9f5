import { commandLine } from "./gateway.ts";

export const bootstrapKey = "sk-mg-e2etest1-0123456789abcdef0123456789abcdef";

/**
 * Runs `serve` in the environment of these variables alone, which say where its home is.
 *
 * @param prefix A command in front of it, such as `setpriv`.
 */
export function serveProcess(prefix: readonly string[], env: Readonly<Record<string, string>>, cwd = process.cwd()) {
  const child = Bun.spawn([...prefix, ...commandLine(), "serve"], {
    cwd,
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      LOG_LEVEL: "error",
      MODELGATE_BOOTSTRAP_KEY: bootstrapKey,
      FREE_TOKENS_PER_DAY: "1000000000",
      ...env,
    },
    stdout: "pipe",
    stderr: "pipe",
    timeout: 120_000,
  });
  let said = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const piece of child.stdout) said += decoder.decode(piece, { stream: true });
  })();
  return { child, said: () => said, complaint: new Response(child.stderr).text() };
}
