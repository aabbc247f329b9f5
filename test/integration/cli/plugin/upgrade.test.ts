import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../../support/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-upgrade-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function modelgate(...words: string[]) {
  const env = { PATH: process.env.PATH ?? "", HOME: folder };
  const child = Bun.spawn([...commandLine(), "plugin", ...words], { cwd: folder, env, stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

const row = { upstreamId: "one", premium: false, ownedBy: "acme", created: 0 };
const catalogue = {
  models: [
    { ...row, id: "acme-1", capability: "chat" },
    { ...row, id: "acme-2", capability: "embed" },
  ],
};
const code = `import { type Call, type ChatRequest, definePlugin, openai, readModels, refuse, UpstreamFault } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

const dialect = openai({ chat: {}, embed: {} });

export default definePlugin({
  name: "acme",
  contractVersion: 1,
  baseUrl: "https://api.acme.example/v1",
  models: readModels(catalogue),
  handlers: {
    ...dialect,
    async chat(call: Call<ChatRequest>) {
      if (call.request.seed === 1) throw refuse("No seed", "seed");
      call.note("Asked acme");
      const answer = await dialect.chat?.(call);
      if (answer === undefined) throw new UpstreamFault("broken", "No answer");
      return answer;
    },
  },
  nMax: { chat: 1 },
});
`;

test("a plugin of contract 1 is refused, rewritten, and then passes its check", async () => {
  mkdirSync(join(folder, "acme"));
  writeFileSync(join(folder, "acme/index.ts"), code);
  writeFileSync(join(folder, "acme/catalogue.json"), JSON.stringify(catalogue, null, 2));
  const refused = await modelgate("check", "acme");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain(
    "it is written for contract 1, this gateway speaks 2; rename embed to embeddings, refuse to badRequest, " +
      "contractVersion 1 to 2, note to warn, broken to bad_response, nMax to maxChoices, or run modelgate plugin upgrade acme",
  );
  const dry = await modelgate("upgrade", "acme", "--dry-run");
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toContain("acme/index.ts:8: 1 to 2\n");
  expect(readFileSync(join(folder, "acme/index.ts"), "utf8")).toBe(code);
  expect(await modelgate("upgrade", "acme")).toMatchObject({ code: 0, stderr: "" });
  expect(readFileSync(join(folder, "acme/index.ts.v1"), "utf8")).toBe(code);
  const checked = await modelgate("check", "acme");
  expect(checked.stdout).not.toContain("NOT OK");
  expect(checked).toMatchObject({ code: 0, stderr: "" });
  expect(await modelgate("upgrade", "acme")).toMatchObject({ code: 0, stdout: "Nothing to upgrade\n" });
}, 60_000);

test("a manifest of contract 1 is rewritten, and then passes its check", async () => {
  const manifest = {
    baseUrl: "https://api.beta.example/v1",
    dialect: "openai",
    nMax: { chat: 1 },
    quirks: { speak: { omit: ["speed"] } },
  };
  const models = [{ id: "beta-1", capability: "speak", premium: false }];
  writeFileSync(join(folder, "beta.json"), JSON.stringify({ ...manifest, models }));
  expect((await modelgate("check", "beta.json")).stderr).toContain("or run modelgate plugin upgrade beta.json");
  expect(await modelgate("upgrade", "beta.json")).toMatchObject({ code: 0, stderr: "" });
  expect(existsSync(join(folder, "beta.json.v1"))).toBe(true);
  expect(await modelgate("check", "beta.json")).toMatchObject({ code: 0, stderr: "" });
}, 60_000);
