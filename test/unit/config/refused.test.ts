import { expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";

test("refuses NODE_TLS_REJECT_UNAUTHORIZED=0, which would be ignored, in one sentence", () => {
  const variable = "NODE_TLS_REJECT_UNAUTHORIZED";
  const problem = "certificates are always verified; unset it, and add an authority with NODE_EXTRA_CA_CERTS";
  expect(() => readConfig({ [variable]: "0" })).toThrow(
    expect.objectContaining({ name: "ConfigError", variable, message: `Cannot use ${variable}: ${problem}` }),
  );
  expect(() => readConfig({ [variable]: "" })).not.toThrow();
});
