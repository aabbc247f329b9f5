import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPage } from "../dashboard/build-page.bun.ts";
import { buildTypes } from "./plugin-new/build-types.bun.ts";

/** Of the project: the folder of package.json. */
export const root = join(import.meta.dir, "../..");

/** A machine that is not this one: its name for the bundler, and the file of its Bun. */
export interface Foreign {
  readonly target: Bun.Build.CompileTarget;
  readonly executablePath: string;
}

/** What was built. */
export interface Built {
  readonly outfile: string;
  readonly bytes: number;
  /** Absent: this is no git checkout. */
  readonly commit: string | undefined;
}

/**
 * Builds the program into one file that needs nothing else.
 *
 * @throws {Error} With what the bundler said.
 */
export async function buildBinary(outfile: string, foreign?: Foreign): Promise<Built> {
  const commit = commitOf(root);
  const pageFolder = mkdtempSync(join(tmpdir(), "modelgate-page-"));
  try {
    const pageModule = await writePage(pageFolder);
    const typesModule = `export const builtTypes = ${JSON.stringify(await buildTypes())};`;
    const built = await Bun.build({
      entrypoints: [join(root, "src/main.ts")],
      // Bytecode halves the start. Names stay, so that a stack trace from the field can be read.
      bytecode: true,
      format: "esm",
      minify: { whitespace: true, syntax: true, identifiers: false },
      plugins: [
        {
          name: "what is built in",
          setup: (build) => {
            build.onLoad({ filter: /\/built-page\.bun\.ts$/ }, () => ({ contents: pageModule, loader: "ts" }));
            build.onLoad({ filter: /\/built-types\.bun\.ts$/ }, () => ({ contents: typesModule, loader: "ts" }));
            // Only a checkout makes them, with a compiler that the binary does not carry.
            build.onLoad({ filter: /\/build-types\.bun\.ts$/ }, () => ({ contents: "export {};", loader: "ts" }));
          },
        },
      ],
      define: commit === undefined ? {} : { MODELGATE_COMMIT: JSON.stringify(commit) },
      // A bunfig.toml in the folder it is started from could make the binary load that folder's code.
      compile: { outfile, autoloadBunfig: false, ...foreign },
      throw: false,
    });
    if (!built.success) throw new Error(`Cannot build ${outfile}: ${built.logs.join("\n")}`);
    return { outfile, bytes: statSync(outfile).size, commit };
  } finally {
    rmSync(pageFolder, { recursive: true, force: true });
  }
}

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
    if (!head.success) return process.env.MODELGATE_COMMIT;
    const dirty = git("status", "--porcelain", "--untracked-files=no").stdout.length > 0;
    return `${head.stdout.toString().trim()}${dirty ? "-dirty" : ""}`;
  } catch {
    // No git on this machine, as in an image that is built: the commit is what was said, or unknown.
    return process.env.MODELGATE_COMMIT;
  }
}
