/** A machine that a release has a binary for. */
export interface ReleaseTarget {
  /** As the file is named: `modelgate-linux-x64`. */
  readonly name: string;
  /** As the bundler calls it. */
  readonly target: "bun-linux-x64" | "bun-linux-arm64" | "bun-darwin-x64" | "bun-darwin-arm64" | "bun-windows-x64";
  /** The package that has its Bun, and the file in it. */
  readonly runtime: string;
}

/** All of them. Linux is that of glibc 2.29 or later: Debian, Ubuntu, Fedora, and not Alpine. */
export const releaseTargets: readonly ReleaseTarget[] = [
  { name: "linux-x64", target: "bun-linux-x64", runtime: "@oven/bun-linux-x64/bin/bun" },
  { name: "linux-arm64", target: "bun-linux-arm64", runtime: "@oven/bun-linux-aarch64/bin/bun" },
  { name: "darwin-x64", target: "bun-darwin-x64", runtime: "@oven/bun-darwin-x64/bin/bun" },
  { name: "darwin-arm64", target: "bun-darwin-arm64", runtime: "@oven/bun-darwin-aarch64/bin/bun" },
  { name: "windows-x64.exe", target: "bun-windows-x64", runtime: "@oven/bun-windows-x64/bin/bun.exe" },
];
