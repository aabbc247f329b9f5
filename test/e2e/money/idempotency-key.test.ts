import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { catalogueRow } from "../../support/catalogue.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { type LedgerView, openCliStore } from "../../support/ledger-view.ts";
import { wavFile } from "../../support/wav.ts";
import { canShare, makeAccount, usePair } from "../scaled/pair.ts";

const model = "famA-4o-mini";
const [promptWord, keyWord] = ["Zanzibar", "order-Quetzal"];
let keys = 0;
const newKey = () => ({ "idempotency-key": `${keyWord}-${++keys}` });
const chatOf = (text: string, fields: object = {}) => ({
  model,
  messages: [{ role: "user", content: text }],
  ...fields,
});
const isReplayed = ({ headers }: Response) => headers.get("idempotent-replayed") === "true";

const requests: [string, unknown][] = [
  ["/chat/completions", chatOf(`Hello ${promptWord}`)],
  ["/chat/completions", chatOf(`Hello ${promptWord}`, { stream: true })],
  ["/responses", { model, input: `Hello ${promptWord}` }],
  ["/responses", { model, input: `Hello ${promptWord}`, stream: true }],
  ["/messages", chatOf(`Hello ${promptWord}`, { max_tokens: 50 })],
  ["/messages", chatOf(`Hello ${promptWord}`, { max_tokens: 50, stream: true })],
  ["/embeddings", { model: "text-embedding-3-small", input: promptWord }],
  ["/images/generations", { model: "famB-3-pro-image-preview", prompt: promptWord }],
  [
    "/audio/speech",
    { model: "famT/v1-english", input: promptWord, voice: catalogueRow("famT/v1-english").voices?.[0] },
  ],
];

describe("a request with an Idempotency-Key", () => {
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  let gateway: Gateway;
  let ledger: LedgerView;
  beforeAll(async () => {
    gateway = await startGateway({ home });
    await fillWallet(gateway);
    ledger = openCliStore(home);
  });
  afterAll(async () => {
    ledger.close();
    await gateway.stop();
    rmSync(home, { recursive: true, force: true });
  });

  test.each(requests)("of %s %j is one call, however often it is sent", async (path, body) => {
    const key = newKey();
    const before = ledger.counts().calls;
    const first = await gateway.post(path, body, key);
    const bytes = await first.bytes();
    const second = await gateway.post(path, body, key);
    expect([first.status, second.status, isReplayed(first), isReplayed(second)]).toEqual([200, 200, false, true]);
    expect(Buffer.from(await second.bytes()).equals(bytes)).toBe(true);
    expect([first, second].map((each) => each.headers.get("content-type"))).toEqual(
      Array(2).fill(first.headers.get("content-type")),
    );
    expect([ledger.counts().calls - before, ledger.callOf(second).state]).toEqual([1, "settled"]);
  });

  test("of a form is known by its fields and its file", async () => {
    const key = newKey();
    const send = (durationMs: number, language: string) => {
      const body = new FormData();
      body.append("model", "famW-large-v3");
      body.append("language", language);
      body.append("file", wavFile(durationMs));
      return gateway.ask("/audio/transcriptions", { method: "POST", body, headers: key });
    };
    const [first, second] = [await send(2000, "en"), await send(2000, "en")];
    expect([first.status, second.status, isReplayed(second)]).toEqual([200, 200, true]);
    expect(await second.text()).toBe(await first.text());
    expect([(await send(1000, "en")).status, (await send(2000, "de")).status]).toEqual([409, 409]);
  });

  test("belongs to its API key: the same one of another account is another call", async () => {
    const { key } = await makeAccount(gateway, "neighbour", "1.00");
    const headers = newKey();
    const own = await gateway.post("/chat/completions", chatOf("Hello"), headers);
    const other = await gateway.post("/chat/completions", chatOf("Hello"), {
      ...headers,
      authorization: `Bearer ${key}`,
    });
    expect([own.status, other.status, isReplayed(other)]).toEqual([200, 200, false]);
    await Promise.all([own.text(), other.text()]);
  });

  test("goes on when its client leaves a stream, and its answer is there when it comes back", async () => {
    const key = newKey();
    const body = chatOf("[[fault: delay=300]] Hello", { stream: true });
    const before = ledger.counts().calls;
    const controller = new AbortController();
    const { origin, key: apiKey } = gateway;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...key };
    const leaving = fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal: controller.signal,
    }).catch(() => undefined);
    while (ledger.counts().open === 0) await Bun.sleep(5);
    // By then its provider was asked.
    await Bun.sleep(100);
    controller.abort();
    await leaving;
    const second = await gateway.post("/chat/completions", body, key);
    expect(await second.text()).toEndWith("data: [DONE]\n\n");
    expect([isReplayed(second), ledger.counts().calls - before, ledger.callOf(second).status]).toEqual([true, 1, 200]);
  });

  test("is sent by OpenAI's client as a header, and its object is the same again", async () => {
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
    const ask = () =>
      client.chat.completions.create({ model, messages: [{ role: "user", content: "Hello" }] }, { headers: newest });
    const newest = newKey();
    const [first, second] = [await ask(), await ask()];
    expect(second).toEqual(first);
    expect(second._request_id).toBe(first._request_id as string);
    const other = await client.chat.completions
      .create({ model, messages: [{ role: "user", content: "Other" }] }, { headers: newest, maxRetries: 2 })
      .then(undefined, (error: unknown) => error);
    expect((other as InstanceType<typeof OpenAI.APIError>).status).toBe(409);
  });

  test("is sent by OpenAI's client with every request, and again with a retry, once it knows the header", async () => {
    class KeyedClient extends OpenAI {
      protected override idempotencyHeader = "Idempotency-Key";
    }
    const sent: (string | null)[] = [];
    const client = new KeyedClient({
      baseURL: gateway.baseUrl,
      apiKey: gateway.key,
      // The first answer is lost on its way.
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        await response.clone().text();
        sent.push(new Headers(init?.headers as Headers).get("idempotency-key"));
        if (sent.length === 1) throw new Error("The connection was lost");
        return response;
      },
    });
    const before = ledger.counts().calls;
    const answer = await client.chat.completions.create({ model, messages: [{ role: "user", content: "Hello" }] });
    expect(answer.choices.length).toBe(1);
    expect([sent.length, new Set(sent).size, ledger.counts().calls - before]).toEqual([2, 1, 1]);
    await client.chat.completions.create(
      { model, messages: [{ role: "user", content: "Hello" }] },
      { idempotencyKey: newKey()["idempotency-key"] },
    );
    expect(sent.at(-1)).toStartWith(keyWord);
  });

  test("runs anew after its gateway was killed in the middle, and is charged once", async () => {
    const key = newKey();
    const lost = gateway.post("/chat/completions", chatOf("[[fault: delay=5000]] Hello"), key).catch(() => undefined);
    while (ledger.counts().open === 0) await Bun.sleep(5);
    const abandoned = ledger.latest()?.id as string;
    process.kill(gateway.pid, "SIGKILL");
    await lost;
    await gateway.stop();
    gateway = await startGateway({ home });
    const body = chatOf("[[fault: delay=5000]] Hello");
    const [second, third] = await Promise.all([1, 2].map(() => gateway.post("/chat/completions", body, key)));
    expect(await (third as Response).text()).toBe(await (second as Response).text());
    expect([second, third].filter((each) => isReplayed(each as Response)).length).toBe(1);
    expect(ledger.call(abandoned)).toMatchObject({ state: "abandoned", charged_nanodollars: null });
    expect([ledger.callOf(second as Response).state, ledger.callOf(second as Response).id === abandoned]).toEqual([
      "settled",
      false,
    ]);
  });

  test("leaves neither its key nor prompt nor answer readable in the database", async () => {
    const answer = await gateway.post("/chat/completions", chatOf(`Repeat ${promptWord}`), newKey());
    expect(await answer.text()).toContain(promptWord);
    const files = readdirSync(home).filter((name) => name.startsWith("modelgate.db"));
    expect(files.length).toBeGreaterThan(1);
    const found = files.filter((name) => {
      const text = readFileSync(join(home, name), "latin1");
      return text.includes(promptWord) || text.includes(keyWord) || text.includes("chat.completion");
    });
    expect(found).toEqual([]);
  });
});

describe.skipIf(!canShare)("16 equal requests at two gateways", () => {
  const pair = usePair();

  test("are one call, one charge and 16 equal answers", async () => {
    const { key } = await makeAccount(pair.gateways[0] as Gateway, "repeater", "1.00");
    const headers = { authorization: `Bearer ${key}`, ...newKey() };
    const body = chatOf("[[fault: delay=500]] Hello");
    const responses = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (pair.gateways[index % 2] as Gateway).post("/chat/completions", body, headers),
      ),
    );
    const texts = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(texts).size).toBe(1);
    expect(responses.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(responses.filter(isReplayed).length).toBe(15);
    expect(new Set(responses.map((each) => each.headers.get("x-request-id"))).size).toBe(1);
    const { code, stdout } = await (pair.gateways[0] as Gateway).run("ledger", "verify");
    expect(code, stdout).toBe(0);
  });
});
