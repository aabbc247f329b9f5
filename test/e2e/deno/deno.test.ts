import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "../../..");

test("kernel, sandbox plugin, ledger and store answer a chat under Deno, as they use standards only", async () => {
  const deno = Bun.spawn(
    [join(root, "node_modules/.bin/deno"), "run", "--allow-all", "--node-modules-dir=manual", "test/e2e/deno/chat.ts"],
    { cwd: root, stdout: "pipe", stderr: "pipe" },
  );
  const [output, errors] = await Promise.all([new Response(deno.stdout).text(), new Response(deno.stderr).text()]);
  expect(`${await deno.exited} ${errors}`).toStartWith("0");
  const said = JSON.parse(output);
  expect(said.runtime).toStartWith("Deno/");
  expect(said.whole).toContain("Say hello");
  expect(said.streamed).toBe(said.whole);
  expect(said.calls).toEqual([
    { id: "req_streamed", state: "settled" },
    { id: "req_whole", state: "settled" },
  ]);
});
