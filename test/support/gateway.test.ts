import { afterAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import {
  firstPassword,
  type Gateway,
  ownerEmail,
  ownerPassword,
  replaceFirstPassword,
  startGateway,
} from "./gateway.ts";
import { runFolder } from "./run-folder.ts";

const started: Gateway[] = [];
afterAll(() => Promise.all(started.map((gateway) => gateway.stop())));

async function start(options: { isFunded?: boolean; isOwnerSignedIn?: boolean }): Promise<Gateway> {
  const gateway = await startGateway(options);
  started.push(gateway);
  return gateway;
}

const balanceOf = async (gateway: Gateway) =>
  (await gateway.cli<{ balance_usd: string }>("wallet", "show", ownerEmail)).balance_usd;

async function signIn(gateway: Gateway, password = firstPassword(gateway)): Promise<number> {
  const { origin } = gateway;
  const response = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ email: ownerEmail, password }),
  });
  return response.status;
}

test("each started gateway has a home of its own, private and funded as the test says, and the password of its first start", async () => {
  const [funded, plain] = [await start({ isFunded: true }), await start({})];
  expect([await signIn(funded), await signIn(plain)]).toEqual([200, 200]);
  expect([await balanceOf(funded), await balanceOf(plain)]).toEqual(["1000", "0"]);
  await plain.cli("wallet", "credit", "--account", ownerEmail, "--usd", "3.00", "--note", "test");
  expect([await balanceOf(funded), await balanceOf(plain)]).toEqual(["1000", "3"]);
  const modes = ["modelgate.db", "plugins", "catalogue"].map((name) => statSync(join(plain.home, name)).mode & 0o777);
  expect(modes).toEqual([0o600, 0o700, 0o700]);
  expect((await plain.run("ledger", "verify")).code).toBe(0);
});

test("gateways of a run begin with copies of the home of one first start, and one with a home or a key of its own has a first start", async () => {
  const later = await start({});
  const own = await startGateway({ env: { MODELGATE_BOOTSTRAP_KEY: `sk-mg-ownkey01-${"0".repeat(32)}` } });
  started.push(own);
  const isFirst = ({ stdout }: Gateway) => stdout().includes("shown only once");
  // A file that runs by itself has no run to share a home with.
  expect([isFirst(later), isFirst(own)]).toEqual([runFolder === undefined, true]);
});

test("a gateway of a run begins with a session of an owner who has replaced the first password, where the test says so", async () => {
  const [both, plain] = [await start({ isFunded: true, isOwnerSignedIn: true }), await start({})];
  expect([both.ownerSession === undefined, plain.ownerSession]).toEqual([runFolder === undefined, undefined]);
  const cookie = both.ownerSession ?? (await replaceFirstPassword(both));
  expect((await fetch(`${both.origin}/dashboard/api/me`, { headers: { cookie } })).status).toBe(200);
  expect([await signIn(both, ownerPassword), await signIn(both), await signIn(plain)]).toEqual([200, 401, 200]);
  expect(await balanceOf(both)).toBe("1000");
});
