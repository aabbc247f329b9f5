import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { randomBelow } from "../../support/random.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { until } from "../../support/until.ts";
import { makeBench } from "../cli/fixture.ts";
import { claude, eventsOf, gpt, type NativeBench, type Seen, startNative } from "./fixture.ts";

const below = randomBelow(11);
const usageOf = (random = below) => ({
  input_tokens: 1 + random(500),
  cache_creation_input_tokens: random(300),
  cache_read_input_tokens: random(9000),
  output_tokens: 1 + random(200),
});
const message = (usage: object) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-6",
  content: [{ type: "text", text: "Hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
});
const openaiAnswer = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-5.1",
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hi", annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 600 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 1020,
  },
};

/** Streams of the provider that go on until they are ended. */
const heldStreams = new Set<ReadableStreamDefaultController<Uint8Array>>();

/** Begins an answer and does not end it. */
function holdStream(): Response {
  const begun = [
    {
      type: "message_start",
      message: { ...message({ ...usageOf(), output_tokens: 1 }), content: [], stop_reason: null },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
  ];
  let own: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      own = controller;
      heldStreams.add(controller);
      controller.enqueue(new TextEncoder().encode(eventsOf(begun)));
    },
    cancel: () => void heldStreams.delete(own),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** The provider ends its answers, whose usage is waited for after a client has left. */
function endStreams(): void {
  const ending = [
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 30 } },
    { type: "message_stop" },
  ];
  for (const controller of heldStreams) {
    controller.enqueue(new TextEncoder().encode(eventsOf(ending)));
    controller.close();
  }
  heldStreams.clear();
}

/** The last words of a prompt say what the provider does. */
function answer({ path, text }: Seen): Response {
  if (path.startsWith("/openai")) return Response.json(openaiAnswer);
  if (text.includes("hold on")) return holdStream();
  if (text.includes("fail now")) {
    return Response.json({ type: "error", error: { type: "invalid_request_error", message: "No" } }, { status: 400 });
  }
  return Response.json(message(usageOf()));
}

let bench: NativeBench;
let adminKey: string;
let accountId: string;
beforeAll(async () => {
  bench = await startNative(answer, { env: { REQUESTS_PER_MINUTE: "1000000", TOKENS_PER_MINUTE: "1000000000" } });
  const { store, app } = bench.gateway;
  const scopes = ["usage:read", "usage:write"] as const;
  adminKey = (await createAdminKey(store, commandLine, { name: "test", scopes: [...scopes] }, Date.now())).key;
  accountId = (await app.accounts.find("test@example.org"))?.id as string;
});
afterAll(() => bench.stop());
beforeEach(() => heldStreams.clear());

const claudeCode = (session: string, agent?: string, parent?: string): Record<string, string> => ({
  "x-claude-code-session-id": session,
  ...(agent && { "x-claude-code-agent-id": agent }),
  ...(parent && { "x-claude-code-parent-agent-id": parent }),
});

const ask = (words: string, headers: Record<string, string>, fields: object = {}, init: RequestInit = {}) =>
  fetch(`${bench.gateway.baseUrl}/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${bench.gateway.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: claude, max_tokens: 500, messages: [{ role: "user", content: words }], ...fields }),
    ...init,
  });

/** Begins a call that runs until it is ended. */
async function hold(headers: Record<string, string>, init: RequestInit = {}): Promise<Response> {
  const response = await ask("hold on", headers, { stream: true }, init);
  expect(response.status).toBe(200);
  return response;
}

interface AgentJson {
  agent: string | null;
  parent_agent: string | null;
  depth: number;
  running: number;
  branch: { agents: number; running: number; calls: number; cost_usd: string };
  models: Figures[];
}
type Figures = Record<string, number> & { cost_usd: string; charged_usd: string };
type SessionJson = Figures & {
  agents: (AgentJson & Figures)[];
  api_keys: Figures[];
  models: Figures[];
  complete: boolean;
};

async function send(path: string, key = adminKey, body?: object) {
  const response = await fetch(`${bench.gateway.baseUrl}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await response.json() };
}

const pathOf = (session: string) => `/organization/projects/${accountId}/sessions/${encodeURIComponent(session)}`;
const billOf = async (session: string): Promise<SessionJson> => {
  const { status, json } = await send(pathOf(session));
  expect(status).toBe(200);
  return json;
};
const end = (session: string, agent?: string) => send(`${pathOf(session)}/end`, adminKey, agent ? { agent } : {});

/** Figures that can be added, of the ledger under the names of the API. */
const sums = [
  ...(["calls", "errors", "duration_ms", "input_cached_tokens", "input_cache_write_tokens"] as const),
  ...(["input_uncached_tokens", "input_tokens", "output_tokens"] as const),
  ...(["cost", "charged", "cache_saved", "cache_lost"] as const),
] as const;

/** Money as whole nanodollars. */
const toNano = (usd: string) => Math.round(Number(usd) * 1e9);
const addUp = (all: readonly Figures[]) =>
  Object.fromEntries(
    sums.map((name) => [
      name,
      all.reduce((sum, figures) => {
        const usd = (figures as Record<string, unknown>)[`${name}_usd`];
        return sum + (typeof usd === "string" ? toNano(usd) : (figures[name] as number));
      }, 0),
    ]),
  );

/** The same of the rows of the ledger. */
async function ledgerSums(session: string) {
  const rows = await bench.gateway.store.db.selectFrom("calls").selectAll().where("session", "=", session).execute();
  const add = (read: (row: (typeof rows)[number]) => number | null) =>
    rows.reduce((sum, row) => sum + (read(row) ?? 0), 0);
  const cached = add((row) => row.cache_read_tokens);
  const written = add(
    (row) => (row.cache_write_tokens ?? 0) + (row.cache_write_1h_tokens ?? 0) + (row.cache_write_12h_tokens ?? 0),
  );
  const rest = add((row) => row.input_tokens);
  return {
    calls: rows.length,
    errors: rows.filter((row) => row.error_code !== null).length,
    duration_ms: add((row) => row.duration_ms),
    input_cached_tokens: cached,
    input_cache_write_tokens: written,
    input_uncached_tokens: rest,
    input_tokens: cached + written + rest,
    output_tokens: add((row) => row.output_tokens),
    cost: add((row) => row.cost_nanodollars),
    charged: add((row) => row.charged_nanodollars),
    cache_saved: add((row) => row.cache_saved_nanodollars),
    cache_lost: add((row) => row.cache_lost_nanodollars),
  };
}

const outline = ({ agents }: SessionJson) =>
  agents.map(({ agent, parent_agent: parent, depth, calls }) => [depth, parent, agent, calls]);

describe("the agents of a session", () => {
  test("of Claude Code are a tree, whose first level names no parent, and no header of theirs reaches the provider", async () => {
    const session = crypto.randomUUID();
    const [child, grandchild] = ["a3f29c01d7e45b688", "a90b1ce22f7d04c13"];
    for (const headers of [
      claudeCode(session),
      claudeCode(session, child),
      claudeCode(session, grandchild, child),
      claudeCode(session, child),
      claudeCode(session),
    ]) {
      bench.seen.length = 0;
      expect((await ask("Hi", headers)).status).toBe(200);
      expect(Object.keys(bench.seen[0]?.headers ?? {}).filter((name) => /agent-id|session|thread/.test(name))).toEqual(
        [],
      );
    }
    await bench.gateway.ledger.untilSettled();
    const bill = await billOf(session);
    expect(outline(bill)).toEqual([
      [0, null, null, 2],
      [1, null, child, 2],
      [2, child, grandchild, 1],
    ]);
    expect(bill.agents[0]?.branch).toMatchObject({ agents: 2, calls: 5, cost_usd: bill.cost_usd });
    expect(bill.agents[1]?.branch).toMatchObject({ agents: 1, calls: 3 });
    const rows = await bench.gateway.store.db
      .selectFrom("calls")
      .select(["agent", "parent_agent"])
      .where("session", "=", session)
      .orderBy("seq")
      .execute();
    expect(rows[2]).toEqual({ agent: grandchild, parent_agent: child });
    expect(addUp(bill.agents)).toEqual(await ledgerSums(session));
  });

  test("of Codex are the threads beside the one that has the session's name", async () => {
    const session = "019a5b8e-7c3d-7f10-8a44-2b9d6e1f0c35";
    const [spawned, review, nested] = ["019a5b8f-0000-7000-8000-000000000001", "019a5b8f-r", "019a5b8f-n"];
    const codex = (thread: string, parent?: string, kind?: string) => ({
      originator: "codex_exec",
      "session-id": session,
      "thread-id": thread,
      "x-client-request-id": thread,
      "x-codex-window-id": `${thread}:0`,
      ...(parent && { "x-codex-parent-thread-id": parent }),
      ...(kind && { "x-openai-subagent": kind }),
    });
    for (const headers of [
      codex(session),
      codex(spawned, session, "collab_spawn"),
      codex(nested, spawned, "collab_spawn"),
      codex(review, session, "review"),
    ]) {
      bench.seen.length = 0;
      const response = await bench.ask("/responses", { model: gpt, input: "Hi", store: false }, headers);
      expect(response.status).toBe(200);
      expect(
        Object.keys(bench.seen[0]?.headers ?? {}).filter((name) => /codex|session|thread|subagent/.test(name)),
      ).toEqual([]);
    }
    await bench.gateway.ledger.untilSettled();
    const bill = await billOf(session);
    expect(outline(bill)).toEqual([
      [0, null, null, 1],
      [1, null, spawned, 1],
      [2, spawned, nested, 1],
      [1, null, review, 1],
    ]);
    expect(bill).toMatchObject({
      input_tokens: 4000,
      input_cached_tokens: 2400,
      input_uncached_tokens: 1600,
      output_tokens: 80,
    });
    expect(bill.models).toHaveLength(1);
  });

  test("of any shape, also of calls at once that fail or are interrupted, add up to the ledger exactly", async () => {
    const random = randomBelow(3);
    for (let round = 0; round < 6; round++) {
      const session = `round ${round}`;
      const size = 1 + random(12);
      const calls = Array.from({ length: 6 + random(30) }, async () => {
        const agent = random(size + 1);
        // A parent may be unknown, itself, or one that calls the agent its own parent.
        const parent = random(size + 3);
        const headers = {
          "session-id": session,
          ...(agent > 0 && { "x-modelgate-agent": `a${agent}` }),
          ...(parent > 0 && { "x-modelgate-parent-agent": `a${parent}` }),
        };
        const kind = random(8);
        if (kind === 0) return await ask("fail now", headers);
        if (kind > 1) return await ask("Hi", headers);
        const left = new AbortController();
        const response = await hold(headers, { signal: left.signal });
        left.abort();
        return response;
      });
      await Promise.all(calls);
      endStreams();
      await bench.gateway.ledger.untilSettled();
      const bill = await billOf(session);
      const ledger = await ledgerSums(session);
      expect(ledger.calls).toBe(calls.length);
      expect([session, addUp(bill.agents)]).toEqual([session, ledger]);
      expect(addUp([bill])).toEqual(ledger);
      expect(addUp(bill.models)).toEqual(ledger);
      expect(addUp(bill.api_keys)).toEqual(ledger);
      expect(addUp(bill.agents.flatMap(({ models }) => models))).toEqual(ledger);
      expect(bill.agents[0]?.branch).toMatchObject({ calls: ledger.calls, cost_usd: bill.cost_usd });
      const names = bill.agents.map(({ agent }) => agent);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test("are 500 and one entry for the rest where a client names 600", async () => {
    const session = "crowd";
    for (let first = 0; first < 600; first += 50) {
      const some = Array.from({ length: 50 }, (_, place) =>
        ask("Hi", {
          "session-id": session,
          "x-modelgate-agent": `agent-${first + place}`,
          "x-modelgate-parent-agent": "agent-0",
        }),
      );
      for (const response of await Promise.all(some)) expect(response.status).toBe(200);
    }
    await bench.gateway.ledger.untilSettled();
    const bill = await billOf(session);
    expect(bill.agents).toHaveLength(502);
    expect(bill.agents.at(-1)).toMatchObject({ agent: "*", parent_agent: null, depth: 1, calls: 100 });
    expect(addUp(bill.agents)).toEqual(await ledgerSums(session));
    const today = new Date().toISOString().slice(0, 10);
    const start = Math.floor(Date.parse(today) / 1000);
    const { json } = await send(
      `/organization/costs?start_time=${start}&group_by=agent&session=${session}&project_ids=${accountId}`,
    );
    const results: { agent: string; charged_usd: string }[] = json.data.flatMap(
      ({ results }: { results: [] }) => results,
    );
    expect(results).toHaveLength(501);
    expect(results.reduce((sum, { charged_usd: usd }) => sum + toNano(usd), 0)).toBe(toNano(bill.charged_usd));
    // Sums of all sessions know no agent.
    const kinds = await bench.gateway.store.db.selectFrom("usage").select("kind").distinct().execute();
    expect(kinds.map(({ kind }) => kind)).not.toContain("agent");
  });

  test("pay for nothing and lower nothing: a call costs the same whoever names itself", async () => {
    const body = { model: gpt, input: "Hi", store: false };
    const plain = await bench.ask("/responses", body, { "session-id": "plain" });
    const named = await bench.ask("/responses", body, { "session-id": "named", "x-modelgate-agent": "a" });
    await bench.gateway.ledger.untilSettled();
    const [one, other] = [bench.gateway.ledger.callOf(plain), bench.gateway.ledger.callOf(named)];
    expect([other.charged_nanodollars, other.premium]).toEqual([one.charged_nanodollars, one.premium]);
    expect(one.charged_nanodollars).toBeGreaterThan(0);
  });
});

describe("a session", () => {
  test("of a key is looked up by that key alone, and is not there for another account", async () => {
    const session = "own / session:1";
    await ask("Hi", { "session-id": session, "x-modelgate-agent": "a" });
    await bench.gateway.ledger.untilSettled();
    const own = await send(`/key/sessions/${encodeURIComponent(session)}`, bench.gateway.key);
    expect([own.status, own.json.object, own.json.session, own.json.calls]).toEqual([200, "key.session", session, 1]);
    const { accounts } = bench.gateway.app;
    const { key: sibling } = await accounts.createKey({ accountId, name: "sibling" });
    const stranger = await accounts.create({ email: "stranger@example.org" });
    const { key: foreign } = await accounts.createKey({ accountId: stranger.id, name: "foreign" });
    for (const key of [sibling, foreign]) {
      expect((await send(`/key/sessions/${encodeURIComponent(session)}`, key)).status).toBe(404);
    }
    const elsewhere = `/organization/projects/${stranger.id}/sessions/${encodeURIComponent(session)}`;
    expect((await send(elsewhere)).status).toBe(404);
    expect((await send(`${elsewhere}/end`, adminKey, {})).status).toBe(404);
    for (const odd of ["nobody", "a%00b", "..%2f", "%F0%9F%A6%8A"]) {
      expect([odd, (await send(`/key/sessions/${odd}`, bench.gateway.key)).status]).toEqual([odd, 404]);
    }
  });

  test("is shown by the command line, and its requests are found by agent", async () => {
    const session = "by command";
    for (const agent of ["planner", "coder"]) await ask("Hi", { "session-id": session, "x-modelgate-agent": agent });
    await bench.gateway.ledger.untilSettled();
    const cli = makeBench({ env: { MODELGATE_HOME: bench.gateway.home }, now: Date.now, plugins: builtIns });
    try {
      const shown = await cli.json<SessionJson>("session", "show", session, "--account", "test@example.org");
      expect(shown.agents.map(({ agent }) => agent)).toEqual([null, "planner", "coder"]);
      expect(addUp(shown.agents)).toEqual(await ledgerSums(session));
      const text = await cli.run("session", "show", session, "--account", "test@example.org");
      expect([text.code, text.stdout]).toEqual([0, expect.stringMatching(/\(session\).*\n {2}planner.*\n {2}coder/)]);
      const listed = await cli.json<{ agent: string }[]>("request", "list", "--agent", "coder");
      expect(listed.map(({ agent }) => agent)).toEqual(["coder"]);
      expect((await send("/organization/requests?agent=planner")).json.data).toMatchObject([
        { agent: "planner", session },
      ]);
      expect((await cli.run("session", "show", "nobody", "--account", "test@example.org")).code).not.toBe(0);
    } finally {
      cli.remove();
    }
  });
});

describe("usage and costs", () => {
  test("by agent are those of one session alone, in buckets that add up to its bill", async () => {
    const session = crypto.randomUUID();
    for (const agent of [undefined, "a", "b", "a"]) {
      await ask("Hi", { "session-id": session, ...(agent && { "x-modelgate-agent": agent }) });
    }
    await bench.gateway.ledger.untilSettled();
    const { cost_usd: cost } = await billOf(session);
    const cookie = await enterAs(bench.gateway.store, { accountId, role: "member" }, Date.now());
    const usageBy = async (query: string) => {
      const response = await fetch(`${bench.gateway.baseUrl}/usage?${query}`, { headers: { cookie } });
      return { status: response.status, json: await response.json() };
    };
    const { status, json } = await usageBy(`group_by=agent&session=${session}`);
    const { by_agent: agents, ...totals } = json.totals;
    expect([status, totals.requests, totals.cost_usd]).toEqual([200, 4, cost]);
    expect(agents.map(({ agent, requests }: Record<string, unknown>) => [agent, requests])).toEqual([
      ["", 1],
      ["a", 2],
      ["b", 1],
    ]);
    expect(json.data.reduce((sum: number, bucket: Figures) => sum + toNano(bucket.cost_usd), 0)).toBe(toNano(cost));
    expect((await usageBy("group_by=agent")).json.error.param).toBe("session");
    expect((await usageBy(`group_by=model&session=${session}`)).json.error.param).toBe("session");
    const start = Math.floor(Date.now() / 1000) - 3600;
    for (const [query, param] of [
      [`group_by=agent&project_ids=${accountId}`, "session"],
      [`group_by=agent&session=${session}`, "project_ids"],
      [`group_by=agent,line_item&session=${session}&project_ids=${accountId}`, "group_by"],
    ] as const) {
      const refused = await send(`/organization/costs?start_time=${start}&${query}`);
      expect([query, refused.status, refused.json.error.param]).toEqual([query, 400, param]);
    }
  });
});

describe("a branch that is ended", () => {
  /** A session whose agents each run a call: the session itself, a, b below a, c below b, and d. */
  async function runAll(session: string) {
    const running = {
      session: await hold(claudeCode(session)),
      a: await hold(claudeCode(session, "a")),
      b: await hold(claudeCode(session, "b", "a")),
      c: await hold(claudeCode(session, "c", "b")),
      d: await hold(claudeCode(session, "d")),
    };
    await until(async () => (await billOf(session)).running === 5);
    return running;
  }

  const readEnd = async (response: Response) => /session_ended/.test(await response.text());

  test("ends the calls of an agent and of all below it, and no other; each is charged once for what was served", async () => {
    const session = crypto.randomUUID();
    const other = await hold(claudeCode(`${session}-other`, "a"));
    const calls = await runAll(session);
    expect((await billOf(session)).agents.map(({ agent, branch }) => [agent, branch.running])).toEqual([
      [null, 5],
      ["a", 3],
      ["b", 2],
      ["c", 1],
      ["d", 1],
    ]);
    const ended = await end(session, "a");
    expect([ended.status, ended.json]).toEqual([
      200,
      {
        object: "organization.project.session.ended",
        project_id: accountId,
        session,
        agent: "a",
        calls: 3,
        refused_until: expect.any(Number),
      },
    ]);
    expect(await Promise.all([calls.a, calls.b, calls.c].map(readEnd))).toEqual([true, true, true]);
    const bill = await billOf(session);
    expect(bill.agents.filter(({ running }) => running > 0).map(({ agent }) => agent)).toEqual([null, "d"]);
    expect(bill.calls).toBe(3);
    for (const { agent, charged_usd: usd, errors, calls: count } of bill.agents.filter(
      (each) => (each.calls ?? 0) > 0,
    )) {
      // The prompt was read, and a word was said.
      expect([agent, errors, count, Number(usd) > 0]).toEqual([agent, 1, 1, true]);
    }
    expect(addUp(bill.agents)).toEqual(await ledgerSums(session));
    const charges = await bench.gateway.store.db
      .selectFrom("calls")
      .select(["agent", "state", "error_code"])
      .where("session", "=", session)
      .execute();
    expect(charges.map(({ agent }) => agent).sort()).toEqual(["a", "b", "c"]);
    expect(charges.every(({ state, error_code: code }) => state === "settled" && code === "session_ended")).toBe(true);
    expect((await end(session)).json.calls).toBe(2);
    expect(await Promise.all([calls.session, calls.d].map(readEnd))).toEqual([true, true]);
    expect((await billOf(`${session}-other`)).running).toBe(1);
    await end(`${session}-other`);
    expect(await readEnd(other)).toBe(true);
  });

  test("refuses the calls that follow, also of agents that it starts, in words after which no client asks again", async () => {
    const session = crypto.randomUUID();
    for (const headers of [claudeCode(session), claudeCode(session, "a"), claudeCode(session, "b", "a")])
      await ask("Hi", headers);
    await bench.gateway.ledger.untilSettled();
    await end(session, "a");
    bench.seen.length = 0;
    for (const headers of [
      claudeCode(session, "a"),
      claudeCode(session, "b", "a"),
      claudeCode(session, "new", "b"),
      claudeCode(session, "newer", "new"),
    ]) {
      const response = await ask("Hi", headers);
      const { error } = (await response.json()) as { error: { type: string; message: string } };
      // Claude Code sends a 400 again without a field, unless it is of this type.
      expect([response.status, error.type]).toEqual([400, "policy_blocked"]);
      expect(error.message).toContain("was ended");
    }
    const codex = { "session-id": session, "thread-id": "a" };
    const ofCodex = await bench.ask("/responses", { model: gpt, input: "Hi", store: false }, codex);
    expect([ofCodex.status, (await ofCodex.json()).error.code]).toEqual([400, "session_ended"]);
    const inChat = await bench.ask(
      "/chat/completions",
      { model: gpt, messages: [{ role: "user", content: "Hi" }] },
      { "session-id": session, "x-modelgate-agent": "b" },
    );
    expect(inChat.status).toBe(403);
    expect(bench.seen).toEqual([]);
    expect((await ask("Hi", claudeCode(session))).status).toBe(200);
    expect((await ask("Hi", claudeCode(session, "beside"))).status).toBe(200);
    await end(session);
    expect((await ask("Hi", claudeCode(session))).status).toBe(400);
    // A name belongs to its account.
    const { accounts } = bench.gateway.app;
    const neighbour = await accounts.create({ email: `${session}@example.org` });
    const { key } = await accounts.createKey({ accountId: neighbour.id, name: "k" });
    const theirs = await ask("Hi", { ...claudeCode(session), authorization: `Bearer ${key}` });
    expect(((await theirs.json()) as { error: { type: string } }).error.type).toBe("billing_error");
  });

  test("spares the other agents of a circle, which hang beside it", async () => {
    const session = crypto.randomUUID();
    for (const [agent, parent] of [
      ["x", "y"],
      ["y", "x"],
    ] as const) {
      await ask("Hi", claudeCode(session, agent, parent));
    }
    await bench.gateway.ledger.untilSettled();
    await end(session, "x");
    expect((await ask("Hi", claudeCode(session, "x", "y"))).status).toBe(400);
    expect((await ask("Hi", claudeCode(session, "y", "x"))).status).toBe(200);
  });

  test("is ended by the command line in the running gateway too, and stands in the audit log", async () => {
    const session = crypto.randomUUID();
    const call = await hold(claudeCode(session, "a"));
    await until(async () => (await billOf(session)).running === 1);
    const cli = makeBench({ env: { MODELGATE_HOME: bench.gateway.home }, now: Date.now, plugins: builtIns });
    try {
      const flags = ["--account", "test@example.org", "--agent", "a"];
      expect(await cli.json("session", "end", session, ...flags)).toMatchObject({ session, agent: "a", calls: 1 });
      expect(await readEnd(call)).toBe(true);
      expect((await ask("Hi", claudeCode(session, "a"))).status).toBe(400);
      expect((await cli.run("session", "end", "nobody", "--account", "test@example.org")).code).not.toBe(0);
      expect((await cli.run("session", "end", session, "--account", "test@example.org", "--agent", "z")).code).not.toBe(
        0,
      );
    } finally {
      cli.remove();
    }
    const entry = await bench.gateway.store.db
      .selectFrom("audit")
      .selectAll()
      .where("subject", "=", session)
      .executeTakeFirstOrThrow();
    expect([entry.action, entry.account_id, JSON.parse(entry.detail)]).toEqual([
      "session.end",
      "cli",
      { account: accountId, agent: "a", calls: 1 },
    ]);
  });
});
