import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { changelog, helpPages, toAnchor, toHelpAddress } from "../../../../src/dashboard/features/help/pages.ts";

const root = join(import.meta.dir, "../../../..");

/** Pages for those who change the gateway's code or audit it. */
const ofDevelopment = ["architecture", "benchmarks", "lifecycle", "protocols", "releases", "testing", "threats"];

async function anchorsOf(name: string): Promise<string[]> {
  const page = helpPages.find((each) => each.name === name);
  const text = (await page?.load())?.default ?? "";
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => toAnchor(heading));
}

describe("the documentation within the dashboard", () => {
  test("has every page of docs/ that is not about development, and its text", async () => {
    const files = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));
    const names = files.map((file) => file.replace(".md", "")).filter((name) => !ofDevelopment.includes(name));
    expect(helpPages.map(({ name }) => name).sort()).toEqual([...names, changelog].sort());
    for (const { name, load } of helpPages) {
      const file = name === changelog ? "CHANGELOG.md" : `docs/${name}.md`;
      expect((await load()).default).toBe(readFileSync(join(root, file), "utf8"));
    }
  });

  test("has the changelog, whose links lead to the pages beside it", async () => {
    const text = readFileSync(join(root, "CHANGELOG.md"), "utf8");
    const links = [...text.matchAll(/\]\(docs\/([\w-]+)\.md(#[^)]+)?\)/g)];
    expect(links.length).toBeGreaterThan(10);
    for (const [, name = "", anchor = ""] of links) {
      if (ofDevelopment.includes(name)) continue;
      expect(toHelpAddress(`docs/${name}.md${anchor}`, changelog)).toBe(`/help/${name}${anchor}`);
    }
    expect(toHelpAddress("../CHANGELOG.md", "deployment")).toBe("/help/changelog");
  });

  test("is linked by each page of the dashboard at a section that exists", async () => {
    const source = readFileSync(join(root, "src/dashboard/shell/pages.tsx"), "utf8");
    const targets = [...source.matchAll(/help: "([^"]+)"/g)].map(([, target = ""]) => target);
    expect(targets.length).toBeGreaterThan(20);
    for (const target of targets) {
      const [name = "", anchor] = target.split("#");
      const anchors = await anchorsOf(name);
      expect([target, anchors.length > 0, anchor === undefined || anchors.includes(anchor)]).toEqual([
        target,
        true,
        true,
      ]);
    }
  });

  test.each([
    ["#teams", "#teams"],
    ["accounts.md#teams", "#teams"],
    ["budgets.md#budgets", "/help/budgets#budgets"],
    ["agents.md", "/help/agents"],
    ["https://docs.example/page", "https://docs.example/page"],
    ["testing.md", "https://github.com/modelgate/modelgate/blob/main/docs/testing.md"],
    ["../deploy/Caddyfile", "https://github.com/modelgate/modelgate/blob/main/deploy/Caddyfile"],
    [
      "decisions/0005-hold-rules.md",
      "https://github.com/modelgate/modelgate/blob/main/docs/decisions/0005-hold-rules.md",
    ],
  ])("leads from accounts by %s to %s", (href, address) => {
    expect(toHelpAddress(href, "accounts")).toBe(address);
  });
});
