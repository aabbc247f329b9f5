import { existsSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

/** The root folder of the project. */
export const root = join(import.meta.dir, "..");

/** A platform other than this machine's: its name for the bundler, and the path of its Bun. */
interface Foreign {
  readonly target: Bun.Build.CompileTarget;
  readonly executablePath: string;
}

interface Built {
  readonly outfile: string;
  readonly bytes: number;
  /** Absent when this is not a git checkout. */
  readonly commit: string | undefined;
}

/** A clone may have been installed for serving alone. @throws {Error} Where the packages are missing that a build needs. */
function expectDevelopmentPackages(): void {
  const packages = ["@sinclair/typebox", "typescript"];
  const missing = packages.find((name) => !existsSync(join(root, "node_modules", name, "package.json")));
  if (missing === undefined) return;
  const remedy = "run `npx bun install`, without --production, and build again";
  throw new Error(`Cannot build: the development package ${missing} is not installed; ${remedy}`);
}

/** Builds one self-contained executable. @throws {Error} With what is missing, or the messages of the bundler. */
async function buildBinary(outfile: string, foreign?: Foreign): Promise<Built> {
  expectDevelopmentPackages();
  // Imported here, because they need packages themselves.
  const [{ buildTypes }] = await Promise.all([
    import("../src/cli/plugin-new/build-types.bun.ts"),
    // A start trusts the rows of the plugins that are built in. Loading them here checks them.
    import("../plugins/index.ts"),
  ]);
  const commit = readCommit(root);
  // Its path in the checkout becomes part of names in the bundle, so it is the same each time.
  const pageModule = await writePage(join(root, "dist/page"));
  const typesModule = `export const builtTypes = ${JSON.stringify(await buildTypes())};`;
  const built = await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    // Bytecode halves the startup time. Identifiers are kept so that stack traces are readable.
    bytecode: true,
    format: "esm",
    // A module that is imported when first needed becomes a file of its own, which a start does not read.
    splitting: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
    plugins: [
      {
        name: "embedded files",
        setup: (build) => {
          build.onLoad({ filter: /\/built-page\.bun\.ts$/ }, () => ({ contents: pageModule, loader: "ts" }));
          build.onLoad({ filter: /\/built-types\.bun\.ts$/ }, () => ({ contents: typesModule, loader: "ts" }));
          // Only needed in a checkout; the binary does not contain the compiler.
          build.onLoad({ filter: /\/build-types\.bun\.ts$/ }, () => ({ contents: "export {};", loader: "ts" }));
        },
      },
    ],
    define: {
      // CommonJS packages would otherwise contain the folder of this checkout.
      __dirname: '"/"',
      ...(commit !== undefined && { MODELGATE_COMMIT: JSON.stringify(commit) }),
    },
    // A bunfig.toml in the working directory could make the binary load foreign code.
    compile: { outfile, autoloadBunfig: false, ...foreign },
    throw: false,
  });
  if (!built.success) throw new Error(`Cannot build ${outfile}: ${built.logs.join("\n")}`);
  return { outfile, bytes: statSync(outfile).size, commit };
}

/** Bundles the dashboard into `folder`, and returns the module that embeds its files. */
async function writePage(folder: string): Promise<string> {
  const { buildPage } = await import("../src/dashboard/build-page.bun.ts");
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

function readCommit(folder: string): string | undefined {
  const git = (...words: string[]) => Bun.spawnSync(["git", ...words], { cwd: folder, stderr: "ignore" });
  try {
    const head = git("rev-parse", "--short=12", "HEAD");
    if (!head.success) return process.env.MODELGATE_COMMIT;
    const dirty = git("status", "--porcelain", "--untracked-files=no").stdout.length > 0;
    return `${head.stdout.toString().trim()}${dirty ? "-dirty" : ""}`;
  } catch {
    // Without git, as in a container build, the commit comes from the environment or is unknown.
    return process.env.MODELGATE_COMMIT;
  }
}

/** A platform that a release has a binary for. */
export interface ReleaseTarget {
  /** The suffix of the file: `modelgate-linux-x64`. */
  readonly name: string;
  /** Its name for the bundler. */
  readonly target: "bun-linux-x64" | "bun-linux-arm64" | "bun-darwin-x64" | "bun-darwin-arm64" | "bun-windows-x64";
  /** The npm package of its Bun, and the executable in it. */
  readonly runtime: string;
}

/** Linux needs glibc 2.29 or later: Debian, Ubuntu and Fedora, but not Alpine. */
export const releaseTargets: readonly ReleaseTarget[] = [
  { name: "linux-x64", target: "bun-linux-x64", runtime: "@oven/bun-linux-x64/bin/bun" },
  { name: "linux-arm64", target: "bun-linux-arm64", runtime: "@oven/bun-linux-aarch64/bin/bun" },
  { name: "darwin-x64", target: "bun-darwin-x64", runtime: "@oven/bun-darwin-x64/bin/bun" },
  { name: "darwin-arm64", target: "bun-darwin-arm64", runtime: "@oven/bun-darwin-aarch64/bin/bun" },
  { name: "windows-x64.exe", target: "bun-windows-x64", runtime: "@oven/bun-windows-x64/bin/bun.exe" },
];

/**
 * The command that builds a binary in a process of its own, on Linux without address space randomization: the bytecode
 * depends on the addresses of objects, so this makes two builds of one commit equal. Containers may not allow it.
 */
export function buildCommand(outfile: string, foreign?: Foreign): string[] {
  const isSteady = Bun.which("setarch") !== null && Bun.spawnSync(["setarch", "-R", "true"]).success;
  const script = join(import.meta.dir, "build.bun.ts");
  const words = foreign === undefined ? [] : [foreign.target, foreign.executablePath];
  return [...(isSteady ? ["setarch", "-R"] : []), process.execPath, script, outfile, ...words];
}

if (import.meta.main) {
  const [, , path = join(root, "dist/modelgate"), target, executablePath] = process.argv;
  const foreign = target && executablePath ? { target: target as Bun.Build.CompileTarget, executablePath } : undefined;
  try {
    const { outfile, bytes, commit } = await buildBinary(resolve(path), foreign);
    const megabytes = Math.round(bytes / 1e6);
    process.stdout.write(`${relative(process.cwd(), outfile)} (${megabytes} MB, commit ${commit ?? "unknown"})\n`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
