import { describe, expect, test } from "bun:test";
import { ConfigError, readConfig } from "../../../src/config/index.ts";
import { settings } from "../../../src/modules/content-log/settings.ts";
import { settings as otlp } from "../../../src/modules/otlp/settings.ts";

const databaseUrl = "postgres://gate@127.0.0.1/gate";
const secretsKey = "0123456789abcdef0123456789abcdef";

describe("CONTENT_LOG", () => {
  test.each([
    [{ CONTENT_LOG: "on" }, "CONTENT_LOG"],
    [{ CONTENT_LOG_DAYS: "0" }, "CONTENT_LOG_DAYS"],
    [{ CONTENT_LOG_MAX_MB: "0" }, "CONTENT_LOG_MAX_MB"],
    [{ CONTENT_LOG: "selected", DATABASE_URL: databaseUrl }, "SECRETS_KEY"],
    [
      {
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
      },
      "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    ],
    [
      { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true", CONTENT_LOG: "all" },
      "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    ],
  ])("%j is refused", (env, variable) => {
    let thrown: unknown;
    try {
      readConfig(env as Record<string, string>, [settings, otlp]);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    expect((thrown as ConfigError).variable).toBe(variable);
  });

  test("takes a key that all gateways on a database share", () => {
    const env = { CONTENT_LOG: "All", DATABASE_URL: databaseUrl, SECRETS_KEY: secretsKey };
    expect(readConfig(env, [settings]).of(settings).contentLog).toBe("all");
    expect(readConfig({ DATABASE_URL: databaseUrl }, [settings]).of(settings).contentLog).toBe("off");
  });
});
