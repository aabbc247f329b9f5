import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../../../..");

test("catalogue:refresh --check prints what is new, writes nothing and ends with status 1", async () => {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-refresh-"));
  try {
    const list = join(folder, "list.json");
    const listed = {
      litellm_provider: "anthropic",
      mode: "chat",
      max_input_tokens: 200_000,
      max_output_tokens: 64_000,
      input_cost_per_token: 1e-6,
      output_cost_per_token: 5e-6,
    };
    writeFileSync(list, JSON.stringify({ "claude-of-the-test": listed }));
    const catalogue = join(root, "plugins/anthropic/catalogue.json");
    const before = readFileSync(catalogue, "utf8");
    const script = join(root, "scripts/refresh-catalogue/index.ts");
    const run = Bun.spawn([process.execPath, script, "--check", list, "anthropic"], {
      cwd: root,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, errors, code] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
      run.exited,
    ]);
    expect({ code, errors }).toEqual({ code: 1, errors: "" });
    expect(output).toContain("claude-of-the-test");
    expect(output).toMatch(/\d+ differences; nothing was written/);
    expect(readFileSync(catalogue, "utf8")).toBe(before);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
