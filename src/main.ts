#!/usr/bin/env bun
import { raiseFetchLimit } from "./cli/raise-fetch-limit.bun.ts";

raiseFetchLimit();

// After that, as what is read here is read again by the process that takes this one's place.
const { builtIns, manifests, sandbox } = await import("../plugins/index.ts");
const { buildVersion } = await import("./cli/build-version.ts");
const { runCli } = await import("./cli/index.ts");
const { serveApp } = await import("./cli/serve-app.bun.ts");

const parts = { plugins: builtIns, sandboxOf: sandbox, version: buildVersion.version };

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: (text) => process.stdout.write(text),
  drained: () =>
    new Promise((resolve) => {
      if (process.stdout.writableNeedDrain) process.stdout.once("drain", resolve);
      else resolve();
    }),
  stderr: (text) => process.stderr.write(text),
  plugins: builtIns,
  manifests,
  sandboxOf: sandbox,
  serve: (config) => serveApp(config, parts),
  version: buildVersion,
});
