import { describe, expect, test } from "bun:test";
import { ConnectionError } from "../../../../src/kernel/upstream/http-client.ts";

describe("a connection to a provider", () => {
  test.each([
    ["ETIMEDOUT", "timeout", "Timed out connecting to the provider", false],
    ["ENETUNREACH", "bad_response", "Cannot connect to the provider: its network is unreachable", false],
    [
      "SELF_SIGNED_CERT_IN_CHAIN",
      "bad_response",
      "Cannot connect to the provider: certificate not accepted (SELF",
      false,
    ],
    ["InvalidContentLength", "bad_response", "The connection to the provider failed (InvalidContentLength)", true],
    ["with spaces and http://hosts.example", "bad_response", "The connection to the provider failed", true],
  ])("fails by %s", (code, kind, message, wasSent) => {
    const error = new ConnectionError(Object.assign(new Error("http://10.0.0.1"), { code }));
    expect([error.kind, error.wasSent]).toEqual([kind as typeof error.kind, wasSent]);
    expect(error.message).toStartWith(message);
    expect(error.message).not.toContain("http:");
  });
});
