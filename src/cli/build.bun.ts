import { statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

const root = join(import.meta.dir, "../..");
const outfile = resolve(process.argv[2] ?? join(root, "dist/modelgate"));

const commit = commitOf(root);
const built = await Bun.build({
  entrypoints: [join(root, "src/main.ts")],
  // Bytecode halves the start. Names stay, so that a stack trace from the field can be read.
  bytecode: true,
  format: "esm",
  minify: { whitespace: true, syntax: true, identifiers: false },
  define: commit === undefined ? {} : { MODELGATE_COMMIT: JSON.stringify(commit) },
  // A bunfig.toml in the folder it is started from could make the binary load that folder's code.
  compile: { outfile, autoloadBunfig: false },
  throw: false,
});
for (const message of built.logs) process.stderr.write(`${message}\n`);
if (!built.success) process.exit(1);
const megabytes = Math.round(statSync(outfile).size / 1e6);
process.stdout.write(`${relative(process.cwd(), outfile)} (${megabytes} MB, commit ${commit ?? "unknown"})\n`);

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
