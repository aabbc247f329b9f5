#!/usr/bin/env bun
import { builtIns, manifests, sandbox } from "../plugins/index.ts";
import { buildVersion } from "./cli/build-version.ts";
import { runCli } from "./cli/index.ts";
import { serveApp } from "./cli/serve-app.bun.ts";

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
