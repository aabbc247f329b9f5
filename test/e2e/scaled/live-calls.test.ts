import { describe, expect, test } from "bun:test";
import { fillWallet, type Gateway, ownerEmail, slowStream } from "../../support/gateway.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { until } from "../../support/until.ts";
import { canShare, usePair } from "./pair.ts";

interface Live {
  count: number;
  complete: boolean;
  data: { id: string; elsewhere: boolean; attempts: number | null; [field: string]: unknown }[];
}

describe.skipIf(!canShare)("live calls of two gateways on PostgreSQL and Redis", () => {
  const pair = usePair();

  test("are seen on both while they run, once each, and no more when they have ended", async () => {
    const [first, second] = pair.gateways as [Gateway, Gateway];
    await fillWallet(first);
    const cookie = await ownerCookie(first);
    const live = async ({ origin }: Gateway): Promise<Live> => {
      const response = await fetch(`${origin}/v1/organization/live_calls`, { headers: { cookie } });
      expect(response.status).toBe(200);
      return await response.json();
    };
    /** A store on a machine that has other work may once not answer in time, which is said. */
    const seen = async (gateway: Gateway, count: number): Promise<Live> => {
      let found = await live(gateway);
      await until(async () => {
        found = await live(gateway);
        return found.complete && found.count === count && found.data.every(({ attempts }) => attempts !== 0);
      });
      return found;
    };
    expect((await seen(first, 0)).data).toEqual([]);
    const gone = new AbortController();
    const stream = (gateway: Gateway) => slowStream(gateway, gone.signal);
    const calls = [stream(second)];
    try {
      const [there, here] = [await seen(first, 1), await seen(second, 1)];
      expect(here.data).toMatchObject([{ elsewhere: false, model: "famA-4.1", stream: true, attempts: 1 }]);
      const { id, project_id, api_key_id, held_usd } = here.data[0] as Live["data"][number];
      expect(there.data).toMatchObject([
        {
          id,
          project_id,
          api_key_id,
          held_usd,
          elsewhere: true,
          model: "famA-4.1",
          project_email: ownerEmail,
          stream: null,
          attempts: null,
          provider: null,
          first_byte_ms: null,
        },
      ]);
      calls.push(stream(first));
      const combineObservers = await seen(first, 2);
      expect(combineObservers.data.map(({ id, elsewhere }) => [id === here.data[0]?.id, elsewhere])).toEqual([
        [true, true],
        [false, false],
      ]);
    } finally {
      gone.abort();
      await Promise.all(calls);
    }
    for (const gateway of [first, second]) expect((await seen(gateway, 0)).data).toEqual([]);
  });

  test("are ended from the other gateway: their client gets an error in its stream", async () => {
    const [first, second] = pair.gateways as [Gateway, Gateway];
    await fillWallet(first);
    const cookie = await ownerCookie(first);
    const response = second.post("/chat/completions", {
      model: "famA-4.1",
      stream: true,
      messages: [{ role: "user", content: "[[fault: pace=60000]] one two" }],
    });
    const headers = { cookie, origin: first.origin };
    let calls: Live["data"] = [];
    await until(async () => {
      const live = await fetch(`${first.origin}/v1/organization/live_calls`, { headers });
      calls = ((await live.json()) as Live).data;
      return calls.length === 1;
    });
    const [call] = calls as [Live["data"][number]];
    expect(call).toMatchObject({ elsewhere: true, process: expect.any(String) });
    const ended = await fetch(`${first.origin}/v1/organization/live_calls/${call.id}`, { method: "DELETE", headers });
    expect([ended.status, await ended.json()]).toEqual([
      200,
      { id: call.id, object: "organization.live_call.deleted", deleted: true },
    ]);
    expect(await (await response).text()).toContain("An operator of the gateway ended this call");
  });

  test("of an agent are ended from the other gateway with all below it, and more are refused at both", async () => {
    const [first, second] = pair.gateways as [Gateway, Gateway];
    await fillWallet(first);
    const cookie = await ownerCookie(first);
    const headers = { cookie, origin: first.origin };
    const ask = (gateway: Gateway, agent: string, parent: string, words: string) =>
      gateway.post(
        "/chat/completions",
        { model: "famA-4.1", stream: true, messages: [{ role: "user", content: words }] },
        { "session-id": "shared", "x-modelgate-agent": agent, "x-modelgate-parent-agent": parent },
      );
    const slow = "[[fault: pace=60000]] one two";
    const gone = new AbortController();
    const others = slowStream(second, gone.signal);
    const running = [ask(first, "planner", "lead", slow), ask(second, "coder", "planner", slow)];
    const projects = await fetch(`${first.origin}/v1/organization/projects`, { headers });
    const { data } = (await projects.json()) as { data: { id: string; email: string }[] };
    const project = data.find(({ email }) => email === ownerEmail)?.id;
    const path = `${first.origin}/v1/organization/projects/${project}/sessions/shared`;
    await until(async () => {
      const response = await fetch(path, { headers });
      return response.ok && ((await response.json()) as { running: number }).running === 2;
    });
    const ended = await fetch(`${path}/end`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ agent: "planner" }),
    });
    expect([ended.status, await ended.json()]).toMatchObject([200, { agent: "planner", calls: 2 }]);
    for (const call of running) expect(await (await call).text()).toContain("session_ended");
    for (const gateway of [first, second]) {
      const refused = await ask(gateway, "tester", "coder", "Say hello");
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("session_ended")]);
    }
    const live = await fetch(`${second.origin}/v1/organization/live_calls`, {
      headers: { ...headers, origin: second.origin },
    });
    expect(((await live.json()) as Live).count).toBe(1);
    gone.abort();
    await others;
  });
});
