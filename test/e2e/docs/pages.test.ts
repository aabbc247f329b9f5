import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { commands } from "../../../src/cli/index.ts";
import { parseArguments } from "../../../src/cli/parse-arguments.ts";
import { codeBlocks, pages, readPage, root } from "./pages.ts";

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): string[] {
  const headings = readPage(path).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** What is wrong with a link of a page; nothing for one that leads out of the project. */
function faultOfLink(path: string, link: string): string | undefined {
  if (/^https?:/.test(link)) return undefined;
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? path : relative(root, join(root, dirname(path), file));
  if (!existsSync(join(root, target))) return `${path}: ${link} is not there`;
  if (anchor !== undefined && !anchorsOf(target).includes(anchor)) return `${path}: ${link} has no such heading`;
  return undefined;
}

test("every link and image of the documentation leads to a file and a heading that exist", () => {
  const links = pages.flatMap((path) =>
    [...readPage(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => [path, link as string] as const),
  );
  expect(links.length).toBeGreaterThan(80);
  expect(links.map(([path, link]) => faultOfLink(path, link)).filter((fault) => fault !== undefined)).toEqual([]);
});

test("the README has at most 200 lines and 900 words, links each page of docs/, and leads to every decision", () => {
  const readme = readPage("README.md");
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(200);
  expect(readme.match(/\S+/g)?.length).toBeLessThanOrEqual(900);
  const direct = pages.filter((path) => /^docs\/[^/]+$/.test(path) && !readme.includes(`](${path})`));
  expect(direct).toEqual([]);
  const reached = new Set(["README.md"]);
  for (const path of reached) {
    for (const [, link = ""] of readPage(path).matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)) {
      if (!/^https?:/.test(link)) reached.add(relative(root, join(root, dirname(path), link)));
    }
  }
  expect(pages.filter((path) => path.startsWith("docs/") && !reached.has(path))).toEqual([]);
});

/** Every command line of the pages that begins with one of these words. */
function commandLines(program: RegExp): [page: string, line: string][] {
  return pages.flatMap((path) =>
    codeBlocks(readPage(path), "sh")
      .flatMap((block) => block.replaceAll("\\\n", " ").split("\n"))
      .filter((line) => program.test(line))
      .map((line): [string, string] => [path, line]),
  );
}

describe("the commands of the documentation", () => {
  const ours = commandLines(/(^|[ /])modelgate [a-z]+ ?/).filter(([, line]) => !/^(docker|sudo|helm)/.test(line));

  test.each(ours)("%s: %s", (_, line) => {
    const [, words = ""] = /(?:^|[ /])modelgate ([a-z].*)$/.exec(line.replace(/ +[#<>].*$/, "")) ?? [];
    const argv = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? (plain as string));
    expect(parseArguments(argv, commands).command?.name).toBeString();
  });

  test("name scripts that package.json has", () => {
    const named = pages.flatMap((path) => [...readPage(path).matchAll(/\b(?:bun|npm) run ([\w:]+)/g)]);
    const scripts = named.map(([, script]) => script as string);
    expect(scripts.length).toBeGreaterThan(10);
    expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
  });

  test("run test and bench files that exist", () => {
    const form = /\bbun (?:test )?(?:--isolate )?(test\/[\w./-]*\w)/g;
    const files = pages.flatMap((path) => [...readPage(path).matchAll(form)].map(([, file]) => file as string));
    expect(files.length).toBeGreaterThan(8);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test("begin with the two of the README, which .ci/run runs on a fresh clone", async () => {
    expect(readPage("README.md")).toContain("npx bun install --production && npm start");
    expect(readPage("README.md")).toContain("npx bun install && npm test");
    expect(await Bun.file(join(root, ".ci/run")).text()).toContain("npx bun install && npm test");
  });
});
