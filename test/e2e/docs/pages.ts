import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dir, "../../..");

/** Every page of documentation, by its path from the root. */
export const pages: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "plugins/README.md",
  "plugins/manifests/README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `docs/${path}`)
    .sort(),
];

export function readPage(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** The text below a heading `## …` or `### …`, to the next heading of its level or above. @throws When it is missing. */
export function readSection(path: string, heading: string): string {
  const level = heading.indexOf(" ");
  const [, after] = `\n${readPage(path)}`.split(`\n${heading}\n`);
  if (after === undefined) throw new Error(`${path} has no heading "${heading}"`);
  return after.split(new RegExp(`^#{1,${level}} `, "m"))[0] as string;
}

/** The code blocks of one language; "" are those that name none. */
export function codeBlocks(text: string, language: string): string[] {
  const blocks: string[] = [];
  let open: { language: string; lines: string[] } | undefined;
  for (const line of text.split("\n")) {
    if (!line.startsWith("```")) open?.lines.push(line);
    else if (open === undefined) open = { language: line.slice(3), lines: [] };
    else {
      if (open.language === language) blocks.push(`${open.lines.join("\n")}\n`);
      open = undefined;
    }
  }
  return blocks;
}

/** Cells of the table rows that begin with code, without backticks. */
export function tableRows(text: string): string[][] {
  const lines = text.split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll("`", "")),
  );
}
