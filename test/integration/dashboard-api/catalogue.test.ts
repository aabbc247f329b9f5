import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";

let gateway: InProcessGateway;
let origin: string;
let cookie: string;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" } });
  origin = new URL(gateway.baseUrl).origin;
  const { id: accountId } = await gateway.app.accounts.create({ email: "admin@example.org" });
  cookie = await enterAs(gateway.store, { accountId, role: "admin" }, Date.now());
});
afterAll(() => gateway.stop());

const admin = (path: string, init: RequestInit = {}) =>
  fetch(`${origin}/dashboard/api/admin/${path}`, { ...init, headers: { cookie, origin, ...init.headers } });
const put = (body: unknown, headers: Record<string, string> = {}) =>
  admin("catalogue/files", {
    method: "PUT",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const read = async () => (await admin("catalogue/files")).json() as Promise<{ revision: string; files: object }>;
const served = async (id: string) => {
  const response = await fetch(`${gateway.baseUrl}/models/${id}`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  await response.body?.cancel();
  return response.status;
};

describe("the operator's catalogue over HTTP", () => {
  test("goes back as it came, is served at once, and the audit log says what changed", async () => {
    const got = await admin("catalogue/files");
    const { revision, files } = (await got.json()) as { revision: string; files: object };
    expect([got.headers.get("etag"), files]).toEqual([`"${revision}"`, {}]);
    const rows = [
      { id: "famA-4o-mini", aliases: ["tiny"] },
      { id: "famA-5", disabled: true },
    ];
    expect([await served("tiny"), await served("famA-5")]).toEqual([404, 200]);
    const response = await put({ revision, files: { openai: { models: rows } } });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as { revision: string; files: string[]; changes: string[] };
    expect(answer.files).toEqual(["openai.json"]);
    expect(answer.changes).toContain("openai: - famA-5");
    expect([await served("tiny"), await served("famA-5")]).toEqual([200, 404]);
    expect(await read()).toEqual({ revision: answer.revision, files: { openai: { models: rows } } });
    const { data } = (await (await admin("audit")).json()) as { data: { action: string; detail: object }[] };
    expect(data[0]).toMatchObject({ action: "catalogue.change", detail: { files: "openai.json" } });
    expect(JSON.stringify(data[0]?.detail)).toContain("openai: - famA-5");
    const list = (await (await admin("catalogue")).json()) as { data: { id: string; routes: object[]; row: object }[] };
    const find = (id: string) => list.data.find((row) => row.id === id);
    expect(find("famA-5")).toMatchObject({ routes: [], row: { disabled: true }, own_files: ["catalogue/openai.json"] });
    expect(find("famA-4o-mini")?.routes).toEqual([{ plugin: "sandbox", state: "closed", priority: 100, weight: 1 }]);
  });

  test("is not overwritten by an editor who read an older one, nor by one who does not say which", async () => {
    const { revision } = await read();
    const audited = async () => ((await (await admin("audit")).json()) as { data: object[] }).data.length;
    const before = await audited();
    await expectError(await put({ files: {} }), { status: 400, param: "revision" });
    await expectError(await put({ revision: "older", files: {} }), { status: 409, param: "revision" });
    await expectError(await put({ revision, files: {} }, { "if-match": '"older"' }), {
      status: 409,
      param: "revision",
    });
    expect([(await read()).revision, await audited()]).toEqual([revision, before]);
    const both = await Promise.all(
      ["one", "two"].map((alias) =>
        put({ files: { openai: [{ id: "famA-4o-mini", aliases: [alias] }] } }, { "if-match": `"${revision}"` }),
      ),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await put({ files: {} }, { "if-match": "*" })).status).toBe(200);
    expect(await read()).toMatchObject({ files: {} });
  });

  test("is refused with file, place and fix, and what was in force stays", async () => {
    const { revision, files } = await read();
    const wrong = { id: "famA-4o-mini", price: { inputToken: { usd: "1" } } };
    const refused = await put({ revision, files: { openai: { models: [wrong] } } });
    expect(await refused.clone().text()).toContain("Cannot use catalogue/openai.json: models[");
    await expectError(refused, { status: 400, param: "files" });
    const broken = await put('{ "files": {\n  "openai": [} }');
    expect(await broken.clone().text()).toContain("line 2, column 14");
    await expectError(broken, { status: 400 });
    await expectError(await put({ revision, files: [] }), { status: 400, param: "files" });
    await expectError(await put({ revision, files: {}, more: 1 }), { status: 400, param: "more" });
    await expectError(await put(" ".repeat(4 * 1024 * 1024 + 1)), { status: 413 });
    await expectError(await put({ revision, files: JSON.parse('{"__proto__": []}') }), { status: 400 });
    expect(await read()).toEqual({ revision, files });
  });
});
