import { realpathSync } from "node:fs";
import { basename, extname } from "node:path";
import { PluginError } from "../sdk/errors.ts";
import * as sdk from "../sdk/index.ts";
import type { LoadCode } from "./load-source.ts";
import { isWithin, type PluginSource } from "./plugin-directory.ts";
import { readTextFile } from "./read-files.ts";

const pluginModule = "modelgate/plugin";
/** Platform modules that a plugin may import: pure computation, no file system, no network, no process. */
const modules = new Set(
  ["buffer", "crypto", "path", "querystring", "string_decoder", "url", "util", "zlib"].map((name) => `node:${name}`),
);
const allowed = `a plugin imports ${pluginModule}, files in its own folder and ${[...modules].join(", ")}`;
const loaders: Readonly<Record<string, "ts" | "js" | "json" | "text">> = {
  ".ts": "ts",
  ".js": "js",
  ".mjs": "js",
  ".json": "json",
  ".txt": "text",
};
/** Globals that are undefined in a plugin's code: it must not bypass `call.upstream` by mistake. */
const hidden = ["process", "Bun", "Deno", "WebSocket", "EventSource", "XMLHttpRequest", "Worker"];
const noFetch = () => {
  throw new PluginError("plugins cannot use fetch; use call.upstream, which has the key and the deadline");
};

type Wrapped = (exports: object, require: (name: string) => unknown, module: { exports: Exports }) => void;
interface Exports {
  default?: unknown;
}

/**
 * Bundles a plugin and the files next to it into one function and calls it. No module cache is involved, so a changed
 * file is always loaded again, and an old version is collected as soon as no call uses it.
 */
export const loadCode: LoadCode = async (source) => {
  const refusals: string[] = [];
  const built = await Bun.build({
    entrypoints: [source.entry],
    format: "cjs",
    target: "bun",
    throw: false,
    plugins: [guardImports(source, refusals)],
  });
  const [refusal] = refusals;
  if (refusal !== undefined) throw new PluginError(refusal);
  const [output] = built.outputs;
  if (!built.success || output === undefined) throw new PluginError(describeBuildError(built.logs[0]));
  const module: { exports: Exports } = { exports: {} };
  try {
    wrap(await output.text())(module.exports, requireModule, module);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    if (cause instanceof PluginError) throw cause;
    throw new PluginError(`it failed while it was loaded: ${reason}`, { cause });
  }
  return module.exports.default;
};

/** Allows imports of the plugin's own folder and of the modules above; collects a message for each other one. */
function guardImports(source: PluginSource, refusals: string[]): Bun.BunPlugin {
  const badRequest = (message: string) => {
    refusals.push(message);
    return new Error(message);
  };
  const isOwn = (path: string) => {
    const real = realpathSync(path);
    return (
      real === realpathSync(source.entry) || (source.root !== undefined && isWithin(real, realpathSync(source.root)))
    );
  };
  return {
    name: "guard imports",
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ path, importer }) => {
        if (importer === "") return undefined;
        if (path === pluginModule || modules.has(path)) return { path, external: true };
        if (path.startsWith("./") || path.startsWith("../")) {
          if (source.root !== undefined) return undefined;
          throw badRequest(`it imports ${path}, but is a single file; make it a folder ${source.name}/ with index.ts`);
        }
        throw badRequest(`${basename(importer)} imports ${path}, which is not given to plugins; ${allowed}`);
      });
      build.onLoad({ filter: /.*/ }, ({ path }) => {
        const loader = loaders[extname(path)];
        const name = basename(path);
        if (loader === undefined)
          throw badRequest(`it imports ${name}; expected one of ${Object.keys(loaders).join(", ")}`);
        if (!isOwn(path))
          throw badRequest(`it imports ${name}, which lies outside of its folder; put the file itself there`);
        try {
          return { contents: readTextFile(path), loader };
        } catch (error) {
          throw badRequest(path === source.entry ? getMessage(error) : `${name}: ${getMessage(error)}`);
        }
      });
    },
  };
}

function wrap(code: string): Wrapped {
  const start = code.indexOf("(function");
  const body = code.slice(start).trim().replace(/;$/, "");
  return new Function("fetch", ...hidden, `"use strict";return ${body}`)(noFetch) as Wrapped;
}

function requireModule(name: string): unknown {
  if (name === pluginModule) return sdk;
  // The bundler removes the prefix.
  const full = name.startsWith("node:") ? name : `node:${name}`;
  if (modules.has(full)) return process.getBuiltinModule(full);
  throw new PluginError(`it imports ${full}, which is not given to plugins; ${allowed}`);
}

function describeBuildError(log: BuildMessage | ResolveMessage | undefined): string {
  if (log === undefined) return "it cannot be translated; see that it is TypeScript or JavaScript";
  const { position } = log;
  if (position === null || position === undefined) return log.message;
  const file = basename(position.file);
  return `${file}, line ${position.line}, column ${position.column}: ${log.message}; fix it there`;
}

function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
