import { describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";
import { createContentLog } from "../../../src/modules/content-log/content-log.ts";
import { createLog } from "../../../src/observability/log.ts";
import { startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { wavFile } from "../../support/wav.ts";
import { chatReply, gpt, startNative } from "../native/fixture.ts";

const messages = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "The word is xylophone, my key sk-live-0123456789abcdefghij" },
];

describe("CONTENT_LOG", () => {
  const start = async (env: Record<string, string>) => {
    const other = await startNative((seen) => chatReply(seen), { env: { SANDBOX: "off", ...env } });
    const account = (await other.gateway.app.accounts.find("test@example.org"))?.id as string;
    const cookie = await enterAs(other.gateway.store, { accountId: account, role: "owner" }, Date.now());
    const from = new URL(other.gateway.baseUrl).origin;
    const headers = { cookie, origin: from, "content-type": "application/json" };
    const post = (path: string, body = {}) =>
      fetch(`${from}/dashboard/api${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const send = async (body: object) => {
      const sent = await other.ask("/chat/completions", body);
      await sent.text();
      await other.gateway.app.flush();
      return await post(`/requests/${sent.headers.get("x-request-id")}/content`);
    };
    return { other, account, post, send };
  };

  test("off keeps nothing, and cannot be switched on for some", async () => {
    const { other, account, post, send } = await start({});
    const switched = await post(`/admin/accounts/${account}/content`, { on: true });
    expect(switched.status).toBe(409);
    expect((await post(`/admin/accounts/${account}/content`, { on: false })).status).toBe(200);
    expect((await send({ model: gpt, messages })).status).toBe(404);
    const rows = await other.gateway.store.db.selectFrom("contents").select("id").execute();
    expect(rows).toEqual([]);
    await other.stop();
  });

  test("all keeps every call, also one with store: false, by the operator's own expressions", async () => {
    const { other, send } = await start({ CONTENT_LOG: "all", CONTENT_LOG_REDACT: "xylo\\w+" });
    const shown = await send({ model: gpt, messages, store: false });
    expect(shown.status).toBe(200);
    expect(((await shown.json()) as { request: { text: string }[] }).request[1]?.text).toBe(
      "The word is [redacted], my key [redacted]",
    );
    await other.stop();
  });

  test("all keeps the text of every capability, and no media", async () => {
    const gateway = await startInProcess({ env: { CONTENT_LOG: "all", SANDBOX: "on" } });
    const { kernel, accounts } = gateway.app;
    const config = readConfig({ MODELGATE_HOME: gateway.home, CONTENT_LOG: "all" });
    const contentLog = createContentLog({
      config,
      store: gateway.store,
      log: createLog("silent", () => undefined),
      now: Date.now,
    });
    const models: Record<string, string> = {};
    for (const { model } of kernel.registry.modelEntries) models[model.capability] ??= model.id;
    const own = (await accounts.find("test@example.org"))?.id as string;
    const form = new FormData();
    form.set("file", wavFile(1000));
    form.set("model", models.transcription as string);
    const kept = async (path: string, body: object) => {
      const sent =
        body instanceof FormData
          ? await fetch(gateway.baseUrl + path, {
              method: "POST",
              headers: { authorization: `Bearer ${gateway.key}` },
              body,
            })
          : await gateway.post(path, body);
      await sent.bytes();
      await gateway.app.flush();
      const id = sent.headers.get("x-request-id") as string;
      const { request, answer: said } = await contentLog.view({ accountId: own, personId: own, seesAll: false }, id);
      return [request, said].map((turns) => turns.map(({ role, text }) => `${role}: ${text}`).join("; "));
    };
    expect(await kept("/completions", { model: models.chat, prompt: "One word" })).toEqual([
      "user: One word",
      expect.stringMatching(/^assistant: .*One word/),
    ]);
    expect(await kept("/embeddings", { model: models.embeddings, input: ["a", "b"] })).toEqual([
      "text: a; text: b",
      "",
    ]);
    expect(await kept("/images/generations", { model: models.images, prompt: "A cat" })).toEqual([
      "prompt: A cat",
      expect.stringMatching(/^image: (revised_prompt: .*\n)?\[image \d+ kB\]$/),
    ]);
    expect(await kept("/audio/speech", { model: models.speech, input: "Read this" })).toEqual([
      "text: Read this",
      expect.stringMatching(/^audio: \[audio \d+ kB\]$/),
    ]);
    expect(await kept("/audio/transcriptions", form)).toEqual([
      expect.stringMatching(/^file: \[audio \S+ \d+ kB\]$/),
      expect.stringMatching(/^text: ./),
    ]);
    await gateway.stop();
  });
});
