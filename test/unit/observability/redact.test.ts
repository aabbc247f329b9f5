import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../../src/observability/log.ts";
import { createRedactor } from "../../../src/observability/redact.ts";

const env = {
  ACME_API_KEY: "acme-key-one, acme-key-two",
  STRIPE_SECRET_KEY: "sk_test_0123456789",
  OIDC_CLIENT_SECRET: 'quo"ted secret',
  DATABASE_URL: "postgres://modelgate:pass%2Fword1@127.0.0.1/books",
  REDIS_URL: "redis://:reallysecret@127.0.0.1:6379/0",
  HOST: "127.0.0.1",
  GROQ_API_KEY: "short",
  LOG_LEVEL: "info",
};

test.each([
  ["a key", "Refused acme-key-one", "Refused [hidden]"],
  ["the second of several", "Refused acme-key-two.", "Refused [hidden]."],
  ["a secret key", "Bearer sk_test_0123456789", "Bearer [hidden]"],
  ["a secret as it stands in JSON", JSON.stringify({ said: 'quo"ted secret' }), '{"said":"[hidden]"}'],
  [
    "a secret as it stands in JSON within JSON",
    JSON.stringify({ said: JSON.stringify({ said: 'quo"ted secret' }) }),
    '{"said":"{\\"said\\":\\"[hidden]\\"}"}',
  ],
  ["a secret as it stands in a URL", "?secret=quo%22ted%20secret", "?secret=[hidden]"],
  [
    "the password of a URL",
    "at postgres://modelgate:pass%2Fword1@127.0.0.1",
    "at postgres://modelgate:[hidden]@127.0.0.1",
  ],
  ["that password decoded", "password pass/word1", "password [hidden]"],
  ["another URL's", "AUTH reallysecret", "AUTH [hidden]"],
])("%s is removed from a text", (_, text, expected) => expect(createRedactor(env)(text)).toBe(expected));

test("text that is not a secret, or too short to be one, is unchanged", () => {
  const text = "on 127.0.0.1 at info, a short word";
  expect(createRedactor(env)(text)).toBe(text);
});

test("of a secret within another nothing remains", () => {
  const redact = createRedactor({ A_API_KEY: "12345678", B_API_KEY: "1234567890" });
  expect(redact("1234567890 and 12345678")).toBe("[hidden] and [hidden]");
});

test("log lines with text of others have no secret and stay valid JSON", () => {
  const written: string[] = [];
  const log = createLog("debug", (text) => written.push(text), { now: () => 0, redact: createRedactor(env) });
  const error = new Error('They said "quo\\"ted secret" and acme-key-one', { cause: new Error("reallysecret") });
  for (const level of ["debug", "warn", "error"] as const) log[level]("failed", { error, said: "acme-key-two" });
  log.flush();
  const lines = written.join("").trim().split("\n");
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(() => JSON.parse(line)).not.toThrow();
    expect(line).not.toMatch(/acme-key|reallysecret/);
  }
});

test("secrets are removed that are in the files which variables name", () => {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-redact-"));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  try {
    const redact = createRedactor({
      OPENAI_API_KEY_FILE: write("openai", "sk-of-a-file\n"),
      DATABASE_URL_FILE: write("database", "postgres://gate:longpassword@127.0.0.1/gate\n"),
      OIDC_CLIENT_SECRET_FILE: join(folder, "absent"),
      SSL_CERT_FILE: write("certificate", "of everybody"),
    });
    expect(redact("sk-of-a-file, longpassword, of everybody")).toBe("[hidden], [hidden], of everybody");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
