import { describe, expect, test } from "bun:test";
import { ConfigError, describeConfig, readConfig } from "../../../src/config/config.ts";

const oidc = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "x", OIDC_CLIENT_SECRET: "hush" };

describe("readConfig", () => {
  test.each([
    [
      { OIDC_ISSUER: "https://id.example.com" },
      "OIDC_CLIENT_ID: it is not set, expected it to be set as OIDC_ISSUER is",
    ],
    [{ OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "x" }, "OIDC_CLIENT_SECRET: it is not set"],
    [{ OIDC_CLIENT_SECRET: "x" }, "OIDC_ISSUER: it is not set, expected it to be set as OIDC_CLIENT_SECRET is"],
    [
      { STRIPE_SECRET_KEY: "sk_test_12345678" },
      "STRIPE_WEBHOOK_SECRET: it is not set, expected it to be set as STRIPE_SECRET_KEY is",
    ],
    [{ ...oidc, PORT: "0" }, "PUBLIC_URL: it is not set, and PORT 0"],
  ])("refuses %j, which is half of something", (env, says) => {
    expect(failureOf(() => readConfig(env)).message).toStartWith(`Cannot use ${says}`);
  });

  test("takes an issuer with all it needs, on this machine over http", () => {
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
    expect(message).toStartWith(`Cannot use ${variable}: it is set, but not in that form`);
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
