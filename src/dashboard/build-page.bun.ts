import { join } from "node:path";

export interface BuiltFile {
  /** Such as `/assets/index-e3x037yk.js` or `/index.html`. */
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: Blob;
}

/** Bundles the dashboard: on the first request when run from source, at build time for the binary. */
export async function buildPage(): Promise<BuiltFile[]> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "index.html")],
    target: "browser",
    minify: true,
    splitting: true,
    // Client-side routes have any depth, so asset URLs are absolute.
    publicPath: "/",
    naming: {
      entry: "[name].[ext]",
      chunk: "assets/[name]-[hash].[ext]",
      asset: "assets/[name]-[hash].[ext]",
    },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return built.outputs.map((output) => ({
    path: output.path.slice(1),
    mediaType: output.type,
    bytes: output,
  }));
}
