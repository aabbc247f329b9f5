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
