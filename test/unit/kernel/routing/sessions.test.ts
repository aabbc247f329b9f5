import { expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { completionOf } from "../streams.ts";
import { caller, chatCall, chatModel, createBench, createPlugin, runCall } from "../support.ts";

const names = ["acme", "bolt", "core"];

/** A model served by three plugins with three keys each, of which a call gives plugin and key back. */
function gateway(rows: Record<string, object> = {}, broken: readonly string[] = []) {
  const plugins = names.map((name) =>
    createPlugin(
      {
        async chat({ upstream }) {
          if (broken.includes(name)) throw new UpstreamError("overloaded", "Busy", { status: 503 });
          return completionOf((await upstream.json<{ key: string }>("/chat", {})).key);
        },
      },
      { name, models: [{ ...chatModel, ...rows[name] }] },
    ),
  );
  const credentials = Object.fromEntries(names.map((name) => [name, { keys: [1, 2, 3].map((at) => `${name}-${at}`) }]));
  const fetch = async (_: string, { headers }: RequestInit) =>
    Response.json({ key: new Headers(headers).get("authorization")?.slice("Bearer ".length) });
  const { kernel } = createBench(plugins, { credentials, fetch, random: Math.random });
  return async (session?: string, accountId = "account-1") => {
    const call = chatCall({}, { caller: { ...caller, accountId }, session });
    return (await runCall(kernel, call))?.choices[0]?.message.content as string;
  };
}
const sessions = Array.from({ length: 60 }, (_, index) => `session-${index}`);

test("a session stays with one route and one of its keys, on every node", async () => {
  const [here, there] = [gateway(), gateway()];
  const first: string[] = [];
  for (const session of sessions) first.push(await here(session));
  for (const [index, session] of sessions.entries()) {
    await here();
    expect([await here(session), await there(session)]).toEqual([first[index] as string, first[index] as string]);
  }
  expect(new Set(first).size).toBe(9);
});

test("sessions of the same name of two accounts are two sessions", async () => {
  const ask = gateway();
  const both = await Promise.all(sessions.map(async (name) => [await ask(name), await ask(name, "account-2")]));
  expect(both.some(([one, other]) => one !== other)).toBe(true);
});

test("a session leaves its route for the time that it is broken, and all go to the same other one", async () => {
  const [whole, broken] = [gateway(), gateway({}, ["acme"])];
  for (const session of sessions) {
    const key = await whole(session);
    const other = await broken(session);
    if (key.startsWith("acme")) expect(await broken(session)).toBe(other);
    else expect(other).toBe(key);
  }
});

test("priority comes before a session, and weight has its share of them", async () => {
  const ask = gateway({ acme: { priority: 1, weight: 3 }, bolt: { priority: 1, weight: 1 } });
  const keys: string[] = [];
  for (let index = 0; index < 400; index++) keys.push(await ask(`session-${index}`));
  expect(keys.filter((key) => key.startsWith("core"))).toEqual([]);
  const share = keys.filter((key) => key.startsWith("acme")).length / keys.length;
  expect(share).toBeGreaterThan(0.65);
  expect(share).toBeLessThan(0.85);
});
