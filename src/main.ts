#!/usr/bin/env bun
import { setEngine } from "./cli/set-engine.bun.ts";

/** The git commit of a build, with `-dirty` if there were changes; not defined when run from source. */
declare const MODELGATE_COMMIT: string | undefined;

setEngine();

// Imported afterwards, because the process that replaces this one imports it again.
const { version } = await import("../package.json", { with: { type: "json" } });
const { runCli } = await import("./cli/index.ts");

/** The reader of the output may stop early, such as `head`. A gateway continues without a reader. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (process.argv[2] !== "serve") process.exit();
});

const buildVersion = typeof MODELGATE_COMMIT === "string" ? { version, commit: MODELGATE_COMMIT } : { version };

async function loadBuiltIns() {
  const { loadTrusted } = await import("./sdk/read-models.ts");
  const {
    builtIns: plugins,
    manifests,
    sandbox: createSandbox,
  } = await loadTrusted(() => import("../plugins/index.ts"));
  return { plugins, manifests, createSandbox };
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  async stdin() {
    let text = "";
    for await (const chunk of process.stdin) {
      text += chunk;
      if (text.length > 65_536) break;
    }
    return text;
  },
  stdout: (text) => process.stdout.write(text),
  drained: () =>
    new Promise((resolve) => {
      if (process.stdout.writableNeedDrain) process.stdout.once("drain", resolve);
      else resolve();
    }),
  stderr: (text) => process.stderr.write(text),
  loadBuiltIns,
  async serve(config) {
    const { serveApp } = await import("./cli/serve-app.bun.ts");
    await serveApp(config, { ...(await loadBuiltIns()), version: buildVersion });
  },
  version: buildVersion,
});
