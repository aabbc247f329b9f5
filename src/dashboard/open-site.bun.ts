import type { StaticAssets } from "../http/deps.ts";
import type { BuiltFile } from "./build-page.bun.ts";
import { builtPage } from "./built-page.bun.ts";

/** The files of the dashboard, by path. Lazy: the first request bundles the page when run from source. */
export function openSite(): StaticAssets {
  let built: Promise<Map<string, BuiltFile>> | undefined;
  return {
    async find(path) {
      built ??= loadFiles();
      return (await built).get(path);
    },
  };
}

async function loadFiles(): Promise<Map<string, BuiltFile>> {
  const files = builtPage ?? (await (await import("./build-page.bun.ts")).buildPage());
  return new Map(files.map((file) => [file.path, file]));
}
