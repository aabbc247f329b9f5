import { describe, expect, test } from "bun:test";
import { ConfigError, describeConfig, readConfig } from "../../../src/config/index.ts";

const oidc = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "x", OIDC_CLIENT_SECRET: "hush" };

describe("readConfig", () => {
  test.each([
    [
      { OIDC_ISSUER: "https://id.example.com" },
      "OIDC_CLIENT_ID: it is not set, but OIDC_ISSUER is, expected both or neither",
    ],
    [{ OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "x" }, "OIDC_CLIENT_SECRET: it is not set"],
    [{ OIDC_CLIENT_SECRET: "x" }, "OIDC_ISSUER: it is not set, but OIDC_CLIENT_SECRET is, expected both or neither"],
    [
      { STRIPE_SECRET_KEY: "sk_test_12345678" },
      "STRIPE_WEBHOOK_SECRET: it is not set, but STRIPE_SECRET_KEY is, expected both or neither",
    ],
    [{ ...oidc, PORT: "0" }, "PUBLIC_URL: it is not set, and PORT is 0"],
  ])("refuses %j, which is incomplete", (env, says) => {
    expect(failureOf(() => readConfig(env)).message).toStartWith(`Cannot use ${says}`);
  });

  test("accepts a complete issuer, over http on this machine", () => {
    const local = { ...oidc, OIDC_ISSUER: "http://127.0.0.1:9000" };
    expect(readConfig(local)).toMatchObject({ oidcIssuer: "http://127.0.0.1:9000", oidcClientId: "x" });
    expect(readConfig({ ...local, PORT: "0", PUBLIC_URL: "http://127.0.0.1" }).publicUrl).toBe("http://127.0.0.1");
    expect(JSON.stringify(describeConfig(readConfig(local)))).not.toContain("hush");
  });

  test.each([
    [{ STRIPE_SECRET_KEY: "hunter2", STRIPE_WEBHOOK_SECRET: "whsec_12345678" }, "STRIPE_SECRET_KEY"],
    [{ STRIPE_SECRET_KEY: "sk_test_12345678", STRIPE_WEBHOOK_SECRET: "hunter2" }, "STRIPE_WEBHOOK_SECRET"],
  ])("refuses a secret of another form without showing it", (env, variable) => {
    const { message } = failureOf(() => readConfig(env));
    expect(message).toStartWith(`Cannot use ${variable}: its value is invalid`);
    expect(message).not.toContain("hunter2");
  });
});

function failureOf(work: () => unknown): ConfigError {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("Expected a ConfigError, nothing was thrown");
}
