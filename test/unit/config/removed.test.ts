import { expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";

test.each([
  ["BODIES_MB", "256", "it is now MAX_BUFFERED_BODY_MB; rename it"],
  ["BODY_SECONDS", "60", "it is now REQUEST_TIMEOUT_SECONDS; rename it"],
  ["KEEP_ALIVE_SECONDS", "10", "it is now SSE_HEARTBEAT_SECONDS; rename it"],
  ["CALLS_MAX", "100", "it is now MAX_CONCURRENT_CALLS; rename it"],
  ["UPSTREAM_CLIENT", "own", "it was removed, as HTTPS_PROXY and NO_PROXY work without it; unset it"],
  [
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "0",
    "certificates are always verified; unset it, and add an authority with NODE_EXTRA_CA_CERTS",
  ],
])("refuses %s=%s, which would be ignored, in one sentence", (variable, text, problem) => {
  expect(() => readConfig({ [variable]: text })).toThrow(
    expect.objectContaining({ name: "ConfigError", variable, message: `Cannot use ${variable}: ${problem}` }),
  );
  expect(() => readConfig({ [variable]: "" })).not.toThrow();
});
