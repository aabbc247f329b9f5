import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expectError } from "../../support/expect-error.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { answerToUnfinished } from "../../support/raw-request.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const body = { model: "famA-4o-mini", messages: [{ role: "user", content: "Hello" }] };
const withKey = (authorization: string) => shared.gateway.post("/chat/completions", body, { authorization });

const endpoints = ["/chat/completions", "/embeddings", "/images/generations", "/audio/transcriptions", "/audio/speech"];

describe("a stranger", () => {
  test.each(endpoints)("gets 401 at %s before the body has come", async (path) => {
    const type = path === "/audio/transcriptions" ? "multipart/form-data; boundary=x" : "application/json";
    const head = [
      `POST /api/v1${path} HTTP/1.1`,
      "host: gateway",
      `content-type: ${type}`,
      "content-length: 1000000",
      "authorization: Bearer sk-mg-nobody00-0123456789abcdef0123456789abcdef",
    ];
    const answer = await answerToUnfinished(shared.gateway.origin, `${head.join("\r\n")}\r\n\r\n{"model":`);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('"code":"invalid_api_key"');
  });

  test("gets 401 before a chunked body has come", async () => {
    const head = "POST /api/v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n";
    const answer = await answerToUnfinished(
      shared.gateway.origin,
      `${head}transfer-encoding: chunked\r\n\r\n5\r\n{"mod`,
    );
    expect(answer.status).toBe(401);
  });

  const keys: [string, string][] = [
    ["no key", ""],
    ["another scheme", "Basic YTpi"],
    ["a scheme and nothing after it", "Bearer "],
    ["a key of another kind", "Bearer sk-proj-123456789012345678901234"],
    ["a key that nobody has", "Bearer sk-mg-nobody00-0123456789abcdef0123456789abcdef"],
    ["a known id with another secret", "Bearer sk-mg-e2etest1-0123456789abcdef0123456789abcdee"],
    ["a key with a tail", "Bearer sk-mg-e2etest1-0123456789abcdef0123456789abcdef0"],
    ["a very long key", `Bearer ${"a".repeat(4000)}`],
    ["quotes and SQL", "Bearer sk-mg-e2etest1'--0123456789abcdef"],
  ];
  test.each(keys)("with %s gets 401 and never the schema", async (_, authorization) => {
    const before = shared.ledger.counts();
    const error = await expectError(await withKey(authorization), { status: 401, code: "invalid_api_key" });
    expect(error.param).toBeNull();
    const broken = await shared.gateway.post("/chat/completions", "{", { authorization });
    await expectError(broken, { status: 401, code: "invalid_api_key" });
    expect(shared.ledger.counts()).toEqual(before);
  });
});

describe("a key", () => {
  const create = async (...options: string[]) => {
    return shared.gateway.cli<{ id: string; key: string }>(
      "key",
      "create",
      "--account",
      ownerEmail,
      "--name",
      "test",
      ...options,
    );
  };
  const until = async (status: number, key: string) => {
    let response = await withKey(`Bearer ${key}`);
    for (const deadline = Date.now() + 60_000; response.status !== status && Date.now() < deadline; ) {
      await Bun.sleep(50);
      response = await withKey(`Bearer ${key}`);
    }
    return response;
  };

  test("made at the command line works, and revoked there it is refused", async () => {
    const { id, key } = await create();
    expect((await until(200, key)).status).toBe(200);
    await shared.gateway.cli("key", "revoke", id);
    await expectError(await until(401, key), { status: 401, says: "revoked" });
  });

  test("is refused once it has expired", async () => {
    const { id, key } = await create("--expires", "1m");
    expect((await until(200, key)).status).toBe(200);
    const database = new DatabaseSync(join(shared.gateway.home, "modelgate.db"));
    database.prepare("update keys set expires_at = ? where id = ?").run(Date.now() - 1000, id);
    database.close();
    await expectError(await until(401, key), { status: 401, says: "expired" });
  });

  test("may use only the models it was made for", async () => {
    const { key } = await create("--models", "famA-4.1-nano");
    const ask = (model: string) =>
      shared.gateway.post("/chat/completions", { ...body, model }, { authorization: `Bearer ${key}` });
    await until(403, key);
    await expectError(await ask("famA-4o-mini"), { status: 403, code: "model_not_allowed" });
    expect((await ask("famA-4.1-nano")).status).toBe(200);
  });
});
