import { join } from "node:path";
import { makeMarkdownFiles } from "./features/help/markdown-files.ts";

export interface BuiltFile {
  /** Such as `/assets/index-e3x037yk.js`, `/index.html` or `/help/api.md`. */
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: Blob;
}

/** Bundles the dashboard with the documentation for programs: on the first request when run from source, at build time for the binary. */
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
  const files = await Promise.all(
    built.outputs.map(async (output) => {
      const path = output.path.slice(1);
      const bytes = path === "/index.html" ? new Blob([deferStylesheet(await output.text())]) : output;
      return { path, mediaType: output.type, bytes };
    }),
  );
  // Browsers ask for this name at pages without an icon of their own, such as /docs.
  const icon = files.find(({ path }) => /^\/assets\/icon-[^/]*\.svg$/.test(path));
  const documents = (await makeMarkdownFiles()).map(({ text, ...file }) => ({ ...file, bytes: new Blob([text]) }));
  return [...files, ...(icon === undefined ? [] : [{ ...icon, path: "/favicon.ico" }]), ...documents];
}

/** Moves the stylesheet behind the frame of the page: in the head it would hold back the first paint. */
function deferStylesheet(html: string): string {
  const [link = ""] = /<link rel="stylesheet"[^<>]*>/.exec(html) ?? [];
  return html.replace(link, "").replace("<noscript>", `${link}<noscript>`);
}
