import { join } from "node:path";

/** A file of the page as it is served: where, as what, and its bytes. */
export interface BuiltFile {
  /** Such as `/assets/index-e3x037yk.js`; `/index.html` is the page itself. */
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: Blob;
}

/** Bundles the page: from source at the first visit, for the binary when that is built. */
export async function buildPage(): Promise<BuiltFile[]> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "index.html")],
    target: "browser",
    minify: true,
    splitting: true,
    // Routes of the page are of any depth, so its files are named from the root.
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
