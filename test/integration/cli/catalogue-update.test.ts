import { afterEach, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Bench, makeBench, makePlugin, makeRow } from "./fixture.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const pem = privateKey.export({ type: "pkcs8", format: "pem" });
const key = publicKey.export({ type: "spki", format: "der" }).toString("base64");
const price = (usd: string) => ({ inputToken: { usd, per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } });
const rows = (usd: string) => ({ acme: { models: [{ ...makeRow(), id: "acme-1", price: price(usd) }] } });

const acme = {
  ...makePlugin("acme", [makeRow({ id: "acme-1", price: price("1") })]),
  handlers: { chat: () => Promise.reject(new Error("not asked")) },
};

let bench: Bench;
const open = (env: Record<string, string> = { CATALOGUE_PUBLIC_KEY: key }) => {
  bench = makeBench({ env, plugins: [acme] });
  writeFileSync(at("private.pem"), pem);
  return bench;
};
const at = (name: string) => join(bench.home, name);
const write = (name: string, value: unknown) => writeFileSync(at(name), JSON.stringify(value));
const signed = async (name: string, value: unknown) => {
  write(name, value);
  return bench.json("catalogue", "sign", at(name), "--key", at("private.pem"));
};
const priceNow = async () => {
  const models = await bench.json<{ id: string; price: { inputToken: { usd: string } } }[]>("models");
  return models.find(({ id }) => id === "acme-1")?.price.inputToken.usd;
};
afterEach(() => bench.remove());

test("a signed file shows what it changes, changes it with --yes, and the operator's own rows go over it", async () => {
  open();
  expect(await signed("new.json", { serial: 2, plugins: rows("5") })).toEqual({ serial: 2, public_key: key });
  const { code, stdout } = await bench.run("catalogue", "update", at("new.json"));
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: "acme: ~ acme-1: price.inputToken 1/1000000 → 5/1000000\n\nNothing was written; add --yes to apply it\n",
  });
  expect(existsSync(at("catalogue"))).toBeFalse();
  expect(await priceNow()).toBe("1");
  await bench.json("catalogue", "update", at("new.json"), "--yes");
  expect(await priceNow()).toBe("5");
  write("catalogue/acme.json", { models: [{ id: "acme-1", price: price("7") }] });
  expect(await priceNow()).toBe("7");
});

test.each<[string, (value: Record<string, unknown>) => unknown, string]>([
  [
    "a changed price",
    (value) => ({ ...value, plugins: rows("0.01") }),
    "its signature does not match the file and CATALOGUE_PUBLIC_KEY; download the file from its author again",
  ],
  ["another serial", (value) => ({ ...value, serial: 9 }), "its signature does not match"],
  ["a signature that is none", (value) => ({ ...value, signature: "AAAA" }), "its signature does not match"],
  [
    "no signature",
    ({ signature: _, ...value }) => value,
    "it has no signature; its author can sign it with modelgate catalogue sign",
  ],
  ["no serial", ({ serial: _, ...value }) => value, "serial: it is missing: higher in every new version"],
  ["another field", (value) => ({ ...value, seriall: 1 }), "seriall: unknown field, did you mean serial?"],
])("a file with %s is refused, and what was in force stays", async (_, change, sentence) => {
  open();
  await signed("old.json", { serial: 2, plugins: rows("5") });
  await bench.json("catalogue", "update", at("old.json"), "--yes");
  await signed("bad.json", { serial: 3, plugins: rows("6") });
  write("bad.json", change(JSON.parse(readFileSync(at("bad.json"), "utf8"))));
  const { code, stderr } = await bench.run("catalogue", "update", at("bad.json"), "--yes");
  expect(code).toBe(2);
  expect(stderr).toContain(`Cannot use ${at("bad.json")}: ${sentence}`);
  expect(await priceNow()).toBe("5");
});

test("an older serial, or the same, is refused", async () => {
  open();
  for (const serial of [1, 2]) await signed(`${serial}.json`, { serial, plugins: rows(String(serial + 3)) });
  await bench.json("catalogue", "update", at("2.json"), "--yes");
  for (const serial of [1, 2]) {
    const { stderr } = await bench.run("catalogue", "update", at(`${serial}.json`), "--yes");
    expect(stderr).toContain(`its serial is ${serial}, 2 is in force; use a newer file; the current one stays active`);
  }
  expect(await priceNow()).toBe("5");
});

test.each<[string, unknown, string]>([
  [
    "a price without its unit",
    { models: [{ id: "acme-1", price: { inputToken: { usd: "1" } } }] },
    "plugins.acme.models[0].price.inputToken.per (acme-1): it is missing",
  ],
  [
    "unlisted terms without a price",
    { unlisted: { premium: true } },
    "unlisted has no price for inputToken, outputToken",
  ],
])("rows with %s are refused though they are signed", async (_, rowFile, sentence) => {
  open();
  await signed("bad.json", { serial: 1, plugins: { acme: rowFile } });
  const { code, stderr } = await bench.run("catalogue", "update", at("bad.json"), "--yes");
  expect({ code, isWritten: existsSync(at("catalogue")) }).toEqual({ code: 2, isWritten: false });
  expect(stderr).toContain(sentence);
  expect(stderr).toContain("; the models and prices in force stay");
});

test("rows of a plugin that does not exist are refused, and so is a file when no key is set", async () => {
  open();
  await signed("bad.json", { serial: 1, plugins: { acne: rows("1").acme } });
  expect((await bench.run("catalogue", "update", at("bad.json"))).stderr).toContain(
    "there is no provider acne, did you mean acme?",
  );
  const file = readFileSync(at("bad.json"));
  bench.remove();
  open({});
  writeFileSync(at("bad.json"), file);
  expect((await bench.run("catalogue", "update", at("bad.json"))).stderr).toContain(
    "set CATALOGUE_PUBLIC_KEY to the public key of its author",
  );
});

test("a file is taken from a URL, https unless it is on this machine, and not past 8 MB", async () => {
  open();
  await signed("new.json", { serial: 2, plugins: rows("5") });
  mkdirSync(at("catalogue"));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => new Response(url.endsWith("new") ? Bun.file(at("new.json")) : "x".repeat(9 * 2 ** 20)),
  });
  try {
    const { stderr } = await bench.run("catalogue", "update", `${server.url}large`, "--yes");
    expect(stderr).toContain("it has more than 8388608 bytes");
    expect((await bench.run("catalogue", "update", "http://prices.example/a.json")).stderr).toContain(
      "it is not https",
    );
    await bench.json("catalogue", "update", `${server.url}new`, "--yes");
    expect(await priceNow()).toBe("5");
  } finally {
    await server.stop(true);
  }
});

test("a file that is not there, and a key that is none, are named with what to do", async () => {
  open();
  write("new.json", { serial: 1, plugins: rows("5") });
  writeFileSync(at("public.txt"), key);
  const signing = await bench.run("catalogue", "sign", at("new.json"), "--key", at("public.txt"));
  expect(signing.stderr).toContain(
    `Cannot use ${at("public.txt")}: it is not a private key, expected an Ed25519 key in PEM`,
  );
  const missing = await bench.run("catalogue", "update", at("none.json"));
  expect(missing.stderr).toBe(`Cannot use ${at("none.json")}: there is no such file; check the path\n`);
});

test("of two updates at once the higher serial is in force at the end, whichever is written first", async () => {
  open();
  for (const serial of [5, 6]) await signed(`${serial}.json`, { serial, plugins: rows(String(serial)) });
  for (const order of [
    [6, 5],
    [5, 6],
  ]) {
    rmSync(at("catalogue"), { recursive: true, force: true });
    await Promise.all(order.map((serial) => bench.run("catalogue", "update", at(`${serial}.json`), "--yes")));
    expect({ order, price: await priceNow() }).toEqual({ order, price: "6" });
    expect(readdirSync(at("catalogue"))).toEqual(["update.json"]);
  }
});

test("an update writes through no link that stands beside the file, and keeps who may read the file", async () => {
  open();
  for (const serial of [1, 2]) await signed(`${serial}.json`, { serial, plugins: rows(String(serial)) });
  await bench.json("catalogue", "update", at("1.json"), "--yes");
  chmodSync(at("catalogue/update.json"), 0o600);
  write("other.txt", "untouched");
  symlinkSync(at("other.txt"), at("catalogue/update.json.tmp"));
  await bench.json("catalogue", "update", at("2.json"), "--yes");
  expect(await priceNow()).toBe("2");
  expect(JSON.parse(readFileSync(at("other.txt"), "utf8"))).toBe("untouched");
  expect(statSync(at("catalogue/update.json")).mode & 0o777).toBe(0o600);
});
