import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { findCredentials, hashCredentials, textMax } from "../../../src/dashboard/data/find-credentials.ts";

const digits = (length: number, seed: number) =>
  Array.from({ length }, (_, place) => ((place * 7 + seed * 5 + place * place) % 16).toString(16)).join("");
const samples = [
  { type: "api_key", id: "AbCdEfGhIjKl012345", secret: digits(48, 1), form: "sk-mg-" },
  { type: "api_key", id: "k1mported", secret: "a_secret-of_ones-own_1", form: "sk-mg-" },
  { type: "admin_key", id: "ZyXwVuTsRqPo987654", secret: digits(48, 2), form: "sk-mg-admin-" },
  { type: "access_token", id: "QwErTyUiOpAs112233", secret: digits(64, 3), form: "mg-at-" },
  { type: "refresh_token", id: "LkJhGfDsApOi445566", secret: digits(96, 4), form: "mg-rt-" },
] as const;
const textOf = ({ form, id, secret }: (typeof samples)[number]) => `${form}${id}-${secret}`;
const toResult = ({ type, id, secret }: (typeof samples)[number]) => ({
  ...{ type, id },
  secret: type === "refresh_token" ? secret.slice(48) : secret,
});

/** What keys are found in: each writes the key as that kind of text does. */
const surroundings: readonly (readonly [what: string, write: (key: string) => string])[] = [
  ["the key alone", (key) => key],
  ["spaces and lines", (key) => `\n\t  ${key}  \r\n`],
  ["a header", (key) => `> Authorization: Bearer ${key}\n> Host: example.org`],
  ["an env file", (key) => `export OPENAI_API_KEY='${key}'\nOTHER=1`],
  ["JSON", (key) => JSON.stringify({ apiKey: key, n: 1 })],
  ["JSON in JSON", (key) => JSON.stringify({ log: JSON.stringify({ key }) })],
  ["an address", (key) => `https://api.example.org/v1/models?key=${key}&limit=5`],
  ["an encoded address", (key) => `https://x.example/?to=${encodeURIComponent(key).replaceAll("-", "%2D")}%26a`],
  ["a twice encoded address", (key) => key.replaceAll("-", "%252d").replaceAll("_", "%255F")],
  ["escapes of JSON", (key) => `{"k":"${key.replaceAll("-", "\\u002d").replaceAll("_", "\\u005F")}"}`],
  ["escapes of escapes", (key) => key.replaceAll("-", "\\\\u002D")],
  ["HTML", (key) => `<b>${key.replaceAll("-", "&#45;").replaceAll("_", "&#x5f;")}</b>`],
  ["Markdown", (key) => `\`${key}\`, or ${key.replaceAll("_", "\\_")}`],
  ["a word processor", (key) => key.replaceAll("-", "\u2011")],
  ["a chat with invisible characters", (key) => `\u200b${key.slice(0, 12)}\u200b${key.slice(12)}`],
  ["a mail with soft line breaks", (key) => `${key.slice(0, 20)}=\r\n${key.slice(20)}`],
  ["Basic authentication", (key) => `authorization: Basic ${btoa(`user:${key}`)}`],
  ["a secret of Kubernetes", (key) => `data:\n  key: ${btoa(key)}\n`],
  ["a line of a log", (key) => `2026-11-30T02:10:01Z INFO [req-1] key="${key}", status=200`],
  ["XML", (key) => `<key>${key}</key>`],
  ["brackets", (key) => `(${key}); [${key}] {${key}}`],
];

describe("a credential is found", () => {
  test.each(surroundings)("in %s", (_what, write) => {
    for (const sample of samples) expect(findCredentials(write(textOf(sample)))).toEqual([toResult(sample)]);
  });

  test("with all others of the text, also where they touch", () => {
    const generated = samples.filter(({ id }) => id !== "k1mported");
    for (const between of ["", " ", ",", "\n", '","']) {
      expect(findCredentials(generated.map(textOf).join(between))).toEqual(generated.map(toResult));
    }
  });

  test("by its id where its secret is masked, unless it is elsewhere in the text", () => {
    const [sample] = samples;
    const masked = [`sk-mg-${sample.id}-…`, `sk-mg-${sample.id}-***`, `the key sk-mg-${sample.id}`];
    for (const text of masked) {
      expect(findCredentials(text)).toEqual([{ type: "api_key", id: sample.id, secret: undefined }]);
      expect(findCredentials(`${text} ${textOf(sample)}`)).toEqual([toResult(sample)]);
    }
  });

  test("as a whole where it is of another gateway, and not in words", () => {
    const foreign = `sk-proj-${digits(40, 5)}`;
    expect(findCredentials(`key: "${foreign}"`)).toEqual([{ type: "api_key", id: undefined, secret: foreign }]);
    expect(findCredentials("task-management-of-something-large, risk-assessment-for-everybody")).toEqual([]);
  });

  test("in bounded time and number, whatever is pasted", () => {
    const started = performance.now();
    const hostile = ["sk-", "sk-mg-", "%25", "\\", "A", "-", "sk-mg-a-", "\\u002d", "=\n", "mg-at-aaaa-"];
    for (const part of hostile) findCredentials(part.repeat(textMax / part.length));
    const many = Array.from({ length: 500 }, (_, place) => `sk-mg-key${place}abc-${digits(48, place)}`).join(" ");
    expect(findCredentials(many)).toHaveLength(20);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe("of a credential is sent", () => {
  test("the hash of its secret, and never the secret", async () => {
    const all = findCredentials(samples.map(textOf).join("\n"));
    const sent = await hashCredentials(all);
    expect(sent).toHaveLength(samples.length);
    for (const [place, one] of all.entries()) {
      const sha256 = createHash("sha256")
        .update(one.secret ?? "")
        .digest("hex");
      expect(sent[place]).toEqual({ type: one.type, id: one.id as string, sha256 });
      expect(JSON.stringify(sent)).not.toContain(one.secret as string);
    }
  });

  test("its id alone where the browser computes no hash, and nothing of a key without one", async () => {
    const foreign = `sk-proj-${digits(40, 5)}`;
    const sent = await hashCredentials(findCredentials(`${textOf(samples[0])} ${foreign}`), null);
    expect(sent).toEqual([{ type: "api_key", id: samples[0].id }]);
  });
});
