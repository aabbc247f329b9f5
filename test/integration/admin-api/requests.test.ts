import { afterAll, beforeAll, expect, test } from "bun:test";
import OpenAI from "openai";
import { builtIns } from "../../../plugins/index.ts";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { makeBench } from "../cli/fixture.ts";

let gateway: InProcessGateway;
let adminKey: string;
/** The ids of the requests below, by their tags. */
const ids = new Map<string, string>();

beforeAll(async () => {
  const files = { "catalogue/virtual.json": { models: [{ id: "fast", models: ["gpt-4.1-nano"] }] } };
  gateway = await startInProcess({ env: { SANDBOX: "on" }, files });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["usage:read"] }, Date.now()))
    .key;
  const client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.baseUrl, maxRetries: 0 });
  for (const [tag, user, model] of [
    ["red", "ada", "gpt-4.1-nano"],
    ["blue", "ada", "gpt-4.1"],
    ["green", "ben", "fast"],
  ] as const) {
    const { request_id: id } = await client.chat.completions
      .create(
        { model, messages: [{ role: "user", content: "Say hello" }], user },
        { headers: { "x-modelgate-tag": tag, "session-id": `session of ${user}` } },
      )
      .withResponse();
    ids.set(tag, id as string);
  }
  expect((await gateway.post("/chat/completions", { model: "no-such-model", messages: [] })).status).toBe(400);
  // Refusals are written some at a time.
  while ((await get("/organization/requests?status=refused")).json.data.length === 0) await Bun.sleep(20);
});
afterAll(() => gateway.stop());

async function get(path: string, key = adminKey) {
  const response = await fetch(`${gateway.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  return { status: response.status, json: (await response.json()) as any };
}

const tagsOf = ({ json }: Awaited<ReturnType<typeof get>>) => json.data.map(({ tag }: { tag: string }) => tag);

test("requests of the log are listed newest first, by each of their names, page by page", async () => {
  const all = await get("/organization/requests");
  expect([all.status, tagsOf(all), all.json.has_more]).toEqual([200, [null, "green", "blue", "red"], false]);
  expect(tagsOf(await get("/organization/requests?end_user=ada"))).toEqual(["blue", "red"]);
  expect(tagsOf(await get("/organization/requests?session=session%20of%20ben"))).toEqual(["green"]);
  expect(tagsOf(await get("/organization/requests?tag=blue"))).toEqual(["blue"]);
  expect(tagsOf(await get("/organization/requests?model=gpt-4.1-nano&status=ok"))).toEqual(["green", "red"]);
  expect(tagsOf(await get("/organization/requests?model=fast"))).toEqual(["green"]);
  expect(tagsOf(await get("/organization/requests?status=refused"))).toEqual([null]);
  expect(tagsOf(await get("/organization/requests?project_id=test@example.org&tag=red"))).toEqual(["red"]);
  expect(tagsOf(await get("/organization/requests?end_user=nobody"))).toEqual([]);
  const first = await get("/organization/requests?limit=3");
  expect([tagsOf(first), first.json.has_more]).toEqual([[null, "green", "blue"], true]);
  expect(tagsOf(await get(`/organization/requests?limit=3&after=${first.json.last_id}`))).toEqual(["red"]);
  expect((await get("/organization/requests?status=good")).json.error.message).toBe(
    'status is "good", expected ok, failed, refused, running, a class such as 5xx, or a status such as 429',
  );
});

test("a request is looked up by the id of its answer, with what it used and cost, and no prompt", async () => {
  const id = ids.get("blue") as string;
  const { status, json } = await get(`/organization/requests/${id}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    id,
    object: "organization.request",
    state: "settled",
    status: 200,
    provider: "sandbox",
    session: "session of ada",
    tag: "blue",
    end_user: "ada",
    usage_source: "reported",
    failed_attempts: [],
  });
  expect(json.usage.input_tokens).toBeGreaterThan(0);
  expect(JSON.stringify(json)).not.toContain("Say hello");
  expect((await get("/organization/requests/no-such-request")).status).toBe(404);
});

test("a key looks up its own requests, and nobody else's", async () => {
  const id = ids.get("red") as string;
  const own = await get(`/key/requests/${id}`, gateway.key);
  expect([own.status, own.json.id, own.json.tag]).toEqual([200, id, "red"]);
  const accountId = (await gateway.app.accounts.find("test@example.org"))?.id as string;
  const other = (await gateway.app.accounts.createKey({ accountId, name: "other" })).key;
  expect((await get(`/key/requests/${id}`, other)).status).toBe(404);
  for (const unknown of ["..%2f", "a%00b", "%F0%9F%A6%8A", "x".repeat(2000)]) {
    expect([unknown, (await get(`/key/requests/${unknown}`, gateway.key)).status]).toEqual([unknown, 404]);
  }
});

test("costs are told apart by end user, tag or session, of all projects or of one", async () => {
  const span = `start_time=${Math.floor(Date.now() / 1000) - 3600}`;
  const costsBy = async (query: string) => {
    const { json } = await get(`/organization/costs?${span}&${query}`);
    const buckets: { results: Record<string, unknown>[] }[] = json.data;
    return buckets.flatMap(({ results }) => results);
  };
  const byUser = await costsBy("group_by=end_user&group_by=project_id");
  expect(byUser.map(({ end_user: user, line_item: model }) => [user, model])).toEqual([
    ["ada", null],
    ["ben", null],
  ]);
  expect(byUser.every(({ project_id: project }) => typeof project === "string")).toBe(true);
  const [ada] = byUser as [{ cost_usd: string }];
  expect(Number(ada.cost_usd)).toBeGreaterThan(0);
  const tags = (await costsBy("group_by=tag")).map(({ tag }) => tag);
  expect(tags.sort()).toEqual(["blue", "green", "red"]);
  const accountId = (await gateway.app.accounts.find("test@example.org"))?.id;
  expect(await costsBy(`group_by=session&project_ids=${accountId}`)).toHaveLength(2);
  const { json } = await get(`/organization/costs?${span}&group_by=tag&compare=true`);
  expect(json.comparison.end_time).toBe(json.data[0].start_time);
  const red = json.comparison.results.find(({ tag }: { tag: string }) => tag === "red");
  expect(red).toMatchObject({ previous: { cost_usd: "0" }, change_percent: null });
  expect(Number(red.cost_usd)).toBeGreaterThan(0);
  expect((await get(`/organization/costs?${span}&compare=yes`)).status).toBe(400);
  const mixed = await get(`/organization/costs?${span}&group_by=tag,line_item`);
  expect([mixed.status, mixed.json.error.message]).toEqual([
    400,
    "Costs by tag are not kept by line_item; leave it out",
  ]);
});

test("models are told by the names that clients send, in lists, in one request and to its API key", async () => {
  const blue = ids.get("blue") as string;
  const shown = [
    (await get("/organization/requests?tag=blue")).json.data[0],
    (await get(`/organization/requests/${blue}`)).json,
    (await get(`/key/requests/${blue}`, gateway.key)).json,
  ];
  expect(shown.map(({ model }) => model)).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^gpt-4\.1/)));
});

test("the command line lists requests and shows one", async () => {
  const bench = makeBench({ env: { MODELGATE_HOME: gateway.home }, now: Date.now, plugins: builtIns });
  const list = await bench.json<{ tag: string }[]>("request", "list", "--end-user", "ada");
  expect(list.map(({ tag }) => tag)).toEqual(["blue", "red"]);
  const ofVirtual = await bench.json<{ tag: string }[]>("request", "list", "--model", "fast");
  expect(ofVirtual.map(({ tag }) => tag)).toEqual(["green"]);
  const listTags = async (...flags: string[]) =>
    (await bench.json<{ tag: string | null }[]>("request", "list", ...flags)).map(({ tag }) => tag);
  const today = new Date().toISOString().slice(0, 10);
  expect(await listTags("--from", today, "--status", "ok")).toEqual(["green", "blue", "red"]);
  expect(await listTags("--until", today)).toEqual([]);
  expect(await listTags("--from", "2100-01-01T08:30Z")).toEqual([]);
  expect(await listTags("--min-charge", "1000")).toEqual([]);
  expect(await listTags("--min-charge", "0.000000001")).toEqual(["blue"]);
  for (const wrong of [
    ["--from", "yesterday"],
    ["--until", "2026-13-01"],
    ["--min-charge", "much"],
  ]) {
    const { code, stderr } = await bench.run("request", "list", ...wrong);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Cannot read ${wrong.join(" ")}, expected`)]);
  }
  const shown = await bench.run("request", "show", ids.get("green") as string);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("session of ben")]);
  const wrong = await bench.run("request", "list", "--status", "good");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--status is good, expected ok, failed")]);
  expect((await bench.run("request", "show", "no-such-request")).code).not.toBe(0);
  bench.remove();
});
