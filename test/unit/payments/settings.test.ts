import { expect, test } from "bun:test";
import { ConfigError, describeConfig, readConfig } from "../../../src/config/index.ts";
import { settings } from "../../../src/modules/payments/settings.ts";

const read = (env: Record<string, string>) => readConfig(env, [settings]);

test.each([
  [
    { STRIPE_SECRET_KEY: "sk_test_12345678" },
    "STRIPE_WEBHOOK_SECRET: it is not set, but STRIPE_SECRET_KEY is, expected both or neither",
  ],
  [
    { STRIPE_SECRET_KEY: "hunter2", STRIPE_WEBHOOK_SECRET: "whsec_12345678" },
    "STRIPE_SECRET_KEY: its value is invalid",
  ],
  [
    { STRIPE_SECRET_KEY: "sk_test_12345678", STRIPE_WEBHOOK_SECRET: "hunter2" },
    "STRIPE_WEBHOOK_SECRET: its value is invalid",
  ],
])("%j is refused at the start, without showing a secret", (env, says) => {
  const { message } = failureOf(() => read(env as Record<string, string>));
  expect(message).toStartWith(`Cannot use ${says}`);
  expect(message).not.toContain("hunter2");
});

test("the settings of a module have their values by its declaration, and their rows hide secrets", () => {
  const config = read({ STRIPE_SECRET_KEY: "sk_test_12345678", STRIPE_WEBHOOK_SECRET: "whsec_12345678" });
  expect(config.of(settings)).toEqual({
    stripeSecretKey: "sk_test_12345678",
    stripeWebhookSecret: "whsec_12345678",
  });
  expect(describeConfig(config)).toContainEqual({ name: "STRIPE_SECRET_KEY", value: "set", source: "environment" });
  expect(read({}).of(settings).stripeSecretKey).toBeUndefined();
  const names = describeConfig(read({})).map(({ name }) => name);
  expect(names[names.indexOf("STRIPE_SECRET_KEY") - 1]).toBe("JWT_NETWORKS");
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
