import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { startWebhook } from "../alerts/webhook-sink.ts";
import { type Bench, makeBench } from "./fixture.ts";

const webhook = await startWebhook();
afterAll(() => webhook.stop());

let bench: Bench;
beforeEach(() => {
  bench = makeBench({ env: { ALERT_NETWORKS: "127.0.0.0/8" } });
});
afterEach(() => bench.remove());

interface ChannelJson {
  readonly id: string;
  readonly secret?: string;
}

test("channel create, list, show, change, test and remove work on one channel, whose secret is shown once", async () => {
  const fields = ["--kind", "webhook", "--name", "On call", "--severity", "warning", "--digest", "weekly"];
  const { secret, ...made } = await bench.json<ChannelJson>("channel", "create", ...fields, "--url", webhook.url);
  expect(secret).toMatch(/^whsec_/);
  const origin = new URL(webhook.url).origin;
  expect(made).toMatchObject({ kind: "webhook", name: "On call", label: origin, digest: "weekly", rules: null });
  expect(await bench.json("channel", "list")).toEqual([made]);
  const rules = ["--rules", "disk_full,metric", "--digest", "daily", "--digest-hour", "7"];
  const changed = await bench.json("channel", "change", made.id, ...rules);
  expect(changed).toEqual({ ...made, rules: ["disk_full", "metric"], digest: "daily", digest_hour: 7 });
  expect(await bench.json("channel", "change", made.id, "--rules", "none")).toMatchObject({ rules: null });
  expect((await bench.run("channel", "show", made.id)).stdout).toMatch(/name +On call/);
  expect(await bench.json("channel", "test", "On call")).toMatchObject({ name: "On call", ok: true, error: null });
  expect(JSON.parse(webhook.requests[0]?.body ?? "")).toMatchObject({ type: "test" });
  webhook.answer(500);
  const failed = await bench.run("channel", "test", made.id);
  webhook.answer(200);
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining("On call: The webhook answered 500")]);
  expect(await bench.json("channel", "remove", made.id)).toEqual({ id: made.id, deleted: true });
  expect((await bench.run("channel", "show", made.id)).code).toBe(3);
});

test("channel create reads a secret from standard input for -, and refuses what the kind does not have", async () => {
  bench.remove();
  bench = makeBench({ stdin: async () => "0123456789abcdef0123456789abcdef\n" });
  const pager = ["channel", "create", "--kind", "pagerduty", "--routing-key", "-"];
  expect(await bench.json(...pager)).toMatchObject({ name: "PagerDuty events.pagerduty.com" });
  const refused = await bench.run(...pager, "--digest", "daily");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("PagerDuty gets alerts only")]);
  const email = await bench.json("channel", "create", "--kind", "email", "--to", "a@example.org, b@example.org");
  expect(email).toMatchObject({ name: "Email a@example.org, b@example.org" });
});
