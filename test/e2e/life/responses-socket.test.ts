import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { openCliStore } from "../../support/ledger-view.ts";
import { ResponsesClient } from "../../support/responses-client.ts";
import { until } from "../../support/until.ts";

const turn = { model: "famA-4.1", input: "[[fault: pace=60]] one two three four five six" };
const home = () => mkdtempSync(join(tmpdir(), "modelgate-test-"));
const open = (gateway: Gateway) => ResponsesClient.open(gateway.baseUrl, gateway.key);
const isDelta = ({ type }: { type: string }) => type === "response.output_text.delta";
/** Resolves when the model says more than it has said so far. */
const saysMore = (client: ResponsesClient) => client.until(isDelta, client.events.filter(isDelta).length);

let gateway: Gateway;
afterEach(async () => {
  await gateway.stop();
  rmSync(gateway.home, { recursive: true, force: true });
});

test("SIGTERM lets the turn of a WebSocket come to its end, closes it with 1012, and ends with 0", async () => {
  gateway = await startGateway({ home: home() });
  await fillWallet(gateway);
  const [idle, busy] = [await open(gateway), await open(gateway)];
  busy.send({ type: "response.create", ...turn });
  await saysMore(busy);
  process.kill(gateway.pid, "SIGTERM");
  expect((await idle.closed).code).toBe(1012);
  expect((await busy.ended()).type).toBe("response.completed");
  expect((await busy.closed).code).toBe(1012);
  expect(await gateway.ended).toBe(0);
  expect((await gateway.run("ledger", "verify")).code).toBe(0);
});

test("kill -9 in the middle of a turn charges it once, and a stored conversation goes on after the restart", async () => {
  const options = { home: home() };
  gateway = await startGateway(options);
  await fillWallet(gateway);
  const ledger = openCliStore(options.home);
  const client = await open(gateway);
  const first = await client.turn({ ...turn, input: "Say hello to Ada" });
  client.send({ type: "response.create", ...turn, previous_response_id: first.response.id });
  await saysMore(client);
  process.kill(gateway.pid, "SIGKILL");
  await client.closed;
  await gateway.stop();
  gateway = await startGateway(options);
  await until(() => ledger.counts().open === 0);
  const again = await open(gateway);
  const body = { ...turn, previous_response_id: first.response.id, input: "Go on" };
  expect(await again.turn(body)).toMatchObject({ type: "response.completed" });
  again.close();
  expect(ledger.counts().calls).toBe(3);
  ledger.close();
  expect((await gateway.run("ledger", "verify")).code).toBe(0);
});
