import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { buildPage } from "../dashboard/build-page.bun.ts";

const root = join(import.meta.dir, "../..");
const outfile = resolve(process.argv[2] ?? join(root, "dist/modelgate"));

const commit = commitOf(root);
const pageFolder = mkdtempSync(join(tmpdir(), "modelgate-page-"));
process.once("exit", () => rmSync(pageFolder, { recursive: true, force: true }));
const pageModule = await writePage(pageFolder);
const built = await Bun.build({
  entrypoints: [join(root, "src/main.ts")],
  // Bytecode halves the start. Names stay, so that a stack trace from the field can be read.
  bytecode: true,
  format: "esm",
  minify: { whitespace: true, syntax: true, identifiers: false },
  plugins: [
    {
      name: "the bundled page",
      setup: (build) => {
        build.onLoad({ filter: /\/built-page\.bun\.ts$/ }, () => ({ contents: pageModule, loader: "ts" }));
      },
    },
  ],
  define: commit === undefined ? {} : { MODELGATE_COMMIT: JSON.stringify(commit) },
  // A bunfig.toml in the folder it is started from could make the binary load that folder's code.
  compile: { outfile, autoloadBunfig: false },
  throw: false,
});
for (const message of built.logs) process.stderr.write(`${message}\n`);
if (!built.success) process.exit(1);
const megabytes = Math.round(statSync(outfile).size / 1e6);
process.stdout.write(`${relative(process.cwd(), outfile)} (${megabytes} MB, commit ${commit ?? "unknown"})\n`);

/** Bundles the page into files in a folder, and returns the module by which the binary carries them. */
async function writePage(folder: string): Promise<string> {
  const files = await buildPage();
  const lines = await Promise.all(
    files.map(async ({ path, mediaType, bytes }, index) => {
      const file = join(folder, path.slice(1));
      await Bun.write(file, bytes);
      return {
        load: `import file${index} from ${JSON.stringify(file)} with { type: "file" };`,
        entry: `{ path: ${JSON.stringify(path)}, mediaType: ${JSON.stringify(mediaType)}, bytes: Bun.file(file${index}) },`,
      };
    }),
  );
  return [
    ...lines.map(({ load }) => load),
    "export const builtPage = [",
    ...lines.map(({ entry }) => entry),
    "];",
  ].join("\n");
}

function commitOf(folder: string): string | undefined {
  const git = (...words: string[]) => Bun.spawnSync(["git", ...words], { cwd: folder, stderr: "ignore" });
  try {
    const head = git("rev-parse", "--short=12", "HEAD");
    if (!head.success) return undefined;
    const dirty = git("status", "--porcelain", "--untracked-files=no").stdout.length > 0;
    return `${head.stdout.toString().trim()}${dirty ? "-dirty" : ""}`;
  } catch {
    // No git on this machine: the build has a version, and no commit.
    return undefined;
  }
}
