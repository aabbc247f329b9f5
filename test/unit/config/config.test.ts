import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ConfigError, describeConfig, getVariablePrefix, makeHome, readConfig } from "../../../src/config/index.ts";
import { isLoopback } from "../../../src/contract/index.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const key = "sk-mg-first001-0123456789abcdef0123456789abcdef0123456789abcdef";

describe("readConfig", () => {
  test("uses the documented defaults when nothing is set", () => {
    const { given, groups, of, credentials, ...values } = readConfig({});
    expect(values).toEqual({
      home: join(homedir(), ".modelgate"),
      host: "127.0.0.1",
      port: 3000,
      basePath: "/api/v1",
      freeTokensPerDay: 250_000,
      signUpFreeTokensPerDay: 0,
      requestsPerMinute: 600,
      tokensPerMinute: 4_000_000,
      upstreamTimeoutSeconds: 300,
      corsOrigins: undefined,
      trustedProxies: ["127.0.0.0/8", "::1"],
      databaseUrl: undefined,
      databaseTimeoutMs: 2000,
      sqliteSynchronous: "full",
      callRetentionDays: 90,
      responsesTtlMinutes: 60,
      responsesWebSockets: "on",
      providerWebSockets: "on",
      responsesMaxMb: 64,
      filesMaxMb: 1024,
      maxKeysPerAccount: 1000,
      webSearches: 8,
      cacheMarks: "auto",
      keyCallers: "on",
      maxConcurrentCalls: 12_000,
      overloadLagMs: 30,
      maxBufferedBodyMb: 256,
      requestTimeoutSeconds: 120,
      sseHeartbeatSeconds: 10,
      drainSeconds: 30,
      drainNoticeSeconds: 0,
      concurrentCalls: undefined,
      redisUrl: undefined,
      redisTimeoutMs: 250,
      workers: 1,
      worker: 0,
      bootstrapKey: undefined,
      secretsKey: undefined,
      pluginsDir: undefined,
      cataloguePublicKey: undefined,
      signUp: "closed",
      publicUrl: undefined,
      oidcIssuer: undefined,
      oidcClientId: undefined,
      oidcClientSecret: undefined,
      oidcScopes: "openid email profile",
      oidcRoleClaim: undefined,
      oidcRoles: undefined,
      jwtIssuers: undefined,
      jwtNetworks: undefined,
      smtpUrl: undefined,
      smtpFrom: undefined,
      logLevel: "info",
      logFormat: "auto",
      metricsPort: undefined,
      metricsHost: "127.0.0.1",
      metricsToken: undefined,
      sandbox: "auto",
      proxyEnv: undefined,
      machine: { "aws-instance": { url: "http://169.254.169.254" }, google: { url: "http://169.254.169.254" } },
    });
    expect(given.size).toBe(0);
    expect(groups).toEqual([]);
    expect(of({ settings: {} })).toEqual({});
    expect(credentials({ name: "openai" })).toEqual({ keys: [] });
  });

  test.each([
    ["HOST", "0.0.0.0", { host: "0.0.0.0" }],
    ["HOST", "[::1]", { host: "::1" }],
    ["SIGNUP", "Open", { signUp: "open" }],
    ["SQLITE_SYNCHRONOUS", "NORMAL", { sqliteSynchronous: "normal" }],
    ["PORT", "0", { port: 0 }],
    ["PORT", "65535", { port: 65_535 }],
    ["PORT", " 8080 ", { port: 8080 }],
    ["PORT", "", { port: 3000 }],
    ["BASE_PATH", "/", { basePath: "" }],
    ["BASE_PATH", "/gate/v1/", { basePath: "/gate/v1" }],
    ["CORS_ORIGINS", "*", { corsOrigins: ["*"] }],
    [
      "CORS_ORIGINS",
      " HTTPS://A.example/, http://127.0.0.1:8080,app://obsidian.md",
      { corsOrigins: ["https://a.example", "http://127.0.0.1:8080", "app://obsidian.md"] },
    ],
    ["TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8,192.0.2.7", { trustedProxies: ["10.0.0.0/8", "fd00::/8", "192.0.2.7"] }],
    ["FREE_TOKENS_PER_DAY", "0", { freeTokensPerDay: 0 }],
    ["REQUESTS_PER_MINUTE", "1", { requestsPerMinute: 1 }],
    ["TOKENS_PER_MINUTE", "9007199254740991", { tokensPerMinute: Number.MAX_SAFE_INTEGER }],
    ["MODELGATE_BOOTSTRAP_KEY", key, { bootstrapKey: key }],
    [
      "DATABASE_URL",
      "postgres://ada:word@db.example.org/books?sslmode=require",
      { databaseUrl: "postgres://ada:word@db.example.org/books?sslmode=require" },
    ],
    ["CALL_RETENTION_DAYS", "400", { callRetentionDays: 400 }],
    ["CONCURRENT_CALLS", "8", { concurrentCalls: 8 }],
    ["WORKERS", "1", { workers: 1 }],
    ["LOG_LEVEL", "DEBUG", { logLevel: "debug" as const }],
    ["LOG_FORMAT", "Pretty", { logFormat: "pretty" as const }],
    ["METRICS_PORT", "9464", { metricsPort: 9464 }],
    ["METRICS_PORT", "0", { metricsPort: 0 }],
    ["METRICS_HOST", "[::1]", { metricsHost: "::1" }],
    ["METRICS_TOKEN", "x".repeat(16), { metricsToken: "x".repeat(16) }],
    ["SANDBOX", "on", { sandbox: "on" as const }],
    ["PUBLIC_URL", "https://gate.example.com/", { publicUrl: "https://gate.example.com" }],
    ["PLUGINS_DIR", "relative/folder", { pluginsDir: resolve("relative/folder") }],
    ["MODELGATE_HOME", "relative/folder", { home: resolve("relative/folder") }],
  ])("takes %s=%s", (variable, text, expected) => {
    expect(readConfig({ [variable]: text })).toMatchObject(expected);
  });

  test("expands ~ in MODELGATE_HOME, because service files have no shell to do it", () => {
    expect(readConfig({ HOME: folder, MODELGATE_HOME: "~/gate" }).home).toBe(join(folder, "gate"));
  });

  test.each([
    ["HOST", "http://example.org", "a host name"],
    ["PORT", "65536", "from 0 to 65535"],
    ["PORT", "-1", "from 0 to 65535"],
    ["PORT", "80.5", "from 0 to 65535"],
    ["PORT", "0x50", "from 0 to 65535"],
    ["PORT", "http", "from 0 to 65535"],
    ["BASE_PATH", "api", "a path such as /api/v1"],
    ["BASE_PATH", "/a b", "a path such as /api/v1"],
    ["CORS_ORIGINS", "app.example.com", "comma-separated origins"],
    ["CORS_ORIGINS", "https://a.example,", "comma-separated origins"],
    ["CORS_ORIGINS", "https://a.example/page", "comma-separated origins"],
    ["CORS_ORIGINS", Array(101).fill("*").join(), "at most 100"],
    ["TRUSTED_PROXIES", "caddy", "addresses or CIDR ranges"],
    ["TRUSTED_PROXIES", "10.0.0.0/33", "addresses or CIDR ranges"],
    ["TRUSTED_PROXIES", "::1/129", "addresses or CIDR ranges"],
    ["TRUSTED_PROXIES", "10.0.0.0/8,", "addresses or CIDR ranges"],
    ["CONCURRENT_CALLS", "0", "a whole number from 1"],
    ["WORKERS", "0", "from 1 to 256"],
    ["CALL_RETENTION_DAYS", "0", "from 1 to 36500"],
    ["CALL_RETENTION_DAYS", "90d", "from 1 to 36500"],
    ["FREE_TOKENS_PER_DAY", "-1", "a whole number from 0"],
    ["FREE_TOKENS_PER_DAY", "9007199254740992", "a whole number from 0"],
    ["REQUESTS_PER_MINUTE", "0", "a whole number from 1"],
    ["TOKENS_PER_MINUTE", "1e6", "a whole number from 1"],
    ["LOG_FORMAT", "xml", "auto, json or pretty"],
    ["METRICS_PORT", "65536", "from 0 to 65535"],
    ["METRICS_HOST", "http://x", "a host name"],
    ["PUBLIC_URL", "gate.example.com", "the origin under which users reach"],
    ["PUBLIC_URL", "https://gate.example.com/desk", "without a path"],
    ["OIDC_ISSUER", "http://id.example.com", "http only on this machine"],
    ["OIDC_ISSUER", "https://id.example.com?a=b", "an issuer URL"],
    ["LOG_LEVEL", "loud", "debug, info, warn, error or silent"],
    ["SANDBOX", "yes", "on, off or auto"],
  ])("refuses %s=%s in one sentence with what was expected", (variable, text, expected) => {
    const error = failureOf(() => readConfig({ [variable]: text }));
    expect(error.variable).toBe(variable);
    expect(error.message).toStartWith(`Cannot use ${variable}: it is ${JSON.stringify(text)}, expected `);
    expect(error.message).toContain(expected);
    expect(error.message).not.toMatch(/[.\n]$/);
  });

  test.each(["http://127.0.0.1:6379", "redis://:hunter2@127.0.0.1/zero", "127.0.0.1:6379"])(
    "refuses REDIS_URL=%s without showing it",
    (text) => {
      const error = failureOf(() => readConfig({ REDIS_URL: text }));
      expect(error.message).toStartWith("Cannot use REDIS_URL: its value is invalid, expected a URL such as");
      expect(error.message).not.toContain("hunter2");
    },
  );

  test.each(["mysql://ada:hunter2@db.example.org/books", "postgres://ada:hunter2@db.example.org", "books"])(
    "refuses DATABASE_URL=%s without showing it",
    (text) => {
      const { message } = failureOf(() => readConfig({ DATABASE_URL: text }));
      expect(message).toBe(
        "Cannot use DATABASE_URL: its value is invalid, expected a URL such as postgres://user:password@host:5432/name",
      );
    },
  );

  test("refuses several workers that share neither limits nor wallets", () => {
    const databaseUrl = { DATABASE_URL: "postgres://127.0.0.1/books" };
    for (const env of [{ WORKERS: "4" }, { WORKERS: "4", ...databaseUrl }]) {
      expect(failureOf(() => readConfig(env)).message).toBe(
        "Cannot use WORKERS: it is 4 without REDIS_URL, expected DATABASE_URL and REDIS_URL too for workers with shared wallets, quotas and limits, or 1 worker",
      );
    }
    const shared = { ...databaseUrl, REDIS_URL: "redis://127.0.0.1" };
    expect(readConfig({ WORKERS: "4", ...shared }).workers).toBe(4);
    expect(failureOf(() => readConfig({ WORKERS: "4", PORT: "0", ...shared })).variable).toBe("PORT");
  });

  test("refuses a bootstrap key in another form without showing it", () => {
    const error = failureOf(() => readConfig({ MODELGATE_BOOTSTRAP_KEY: "hunter2" }));
    expect(error.message).toContain("MODELGATE_BOOTSTRAP_KEY");
    expect(error.message).toContain("expected sk-mg-<id>-<secret>");
    expect(error.message).not.toContain("hunter2");
  });
});

describe("credentials", () => {
  test("reads several keys, once each, and the base URL without its trailing slash", () => {
    const { credentials } = readConfig({ MY_HOST_API_KEY: "k1, k2,,k1", MY_HOST_BASE_URL: "http://127.0.0.1:9/v1/" });
    expect(credentials({ name: "my-host" })).toEqual({ keys: ["k1", "k2"], baseUrl: "http://127.0.0.1:9/v1" });
  });

  test("refuses a key that cannot be sent in a header, without showing it", () => {
    const { credentials } = readConfig({ GROQ_API_KEY: "good,bad key" });
    const error = failureOf(() => credentials({ name: "groq" }));
    expect(error.message).toContain("GROQ_API_KEY");
    expect(error.message).toContain("key 2");
    expect(error.message).not.toContain("bad key");
  });

  test.each(["api.example.org/v1", "ftp://example.org", "https://u:secret@example.org", "https://a.org/?key=secret"])(
    "refuses the base URL %s and hides what may be secret",
    (text) => {
      const error = failureOf(() => readConfig({ GROQ_BASE_URL: text }).credentials({ name: "groq" }));
      expect(error.variable).toBe("GROQ_BASE_URL");
      expect(error.message).toContain("http or https URL");
      expect(error.message).not.toContain("secret");
    },
  );
});

describe("describeConfig", () => {
  test("shows the source of each value and never a secret", () => {
    const config = readConfig({
      PORT: "8080",
      MODELGATE_BOOTSTRAP_KEY: key,
      GROQ_API_KEY: "gsk_1,gsk_2",
      BASE_PATH: "/",
    });
    const rows = describeConfig(config, [
      { name: "groq", credential: "key" },
      { name: "openai", credential: "key" },
    ]);
    expect(rows).toContainEqual({ name: "PORT", value: "8080", source: "environment" });
    expect(rows).toContainEqual({ name: "BASE_PATH", value: "/", source: "environment" });
    expect(rows).toContainEqual({ name: "HOST", value: "127.0.0.1", source: "default" });
    expect(rows).toContainEqual({ name: "MODELGATE_BOOTSTRAP_KEY", value: "set", source: "environment" });
    expect(rows).toContainEqual({ name: "GROQ_API_KEY", value: "set (2 keys)", source: "environment" });
    expect(rows).toContainEqual({ name: "OPENAI_API_KEY", value: "not set", source: "default" });
    expect(JSON.stringify(rows)).not.toMatch(/gsk_|first001/);
  });
});

describe("makeHome", () => {
  test("creates the folder with access for its owner only", () => {
    const home = join(folder, "deep/home");
    makeHome({ home });
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(makeHome({ home })).toBe(home);
  });

  test("creates the folders of plugins and catalogue for their owner only, also in a home that was there", () => {
    const home = join(folder, "there");
    mkdirSync(home);
    makeHome({ home }, join(home, "plugins"), join(home, "catalogue"));
    const modes = ["plugins", "catalogue"].map((name) => statSync(join(home, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700]);
  });

  test("names MODELGATE_HOME when it is a file", () => {
    const home = join(folder, "file");
    writeFileSync(home, "");
    expect(failureOf(() => makeHome({ home })).message).toContain(`MODELGATE_HOME: it is ${home} (EEXIST)`);
  });
});

test.each([
  ["127.0.0.1", true],
  ["127.8.8.8", true],
  ["localhost", true],
  ["::1", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.168.1.4", false],
  ["127.example.org", false],
])("isLoopback knows %s as %p", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

test("getVariablePrefix follows the plugin's name", () => {
  expect(getVariablePrefix("my-host")).toBe("MY_HOST");
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

test.each([
  [{}, undefined],
  [{ HTTPS_PROXY: " ", NO_PROXY: "example.org" }, undefined],
  [{ HTTP_PROXY: "http://127.0.0.1:3128" }, undefined],
  [{ HTTPS_PROXY: "http://127.0.0.1:3128" }, { HTTPS_PROXY: "http://127.0.0.1:3128" }],
  [{ ALL_PROXY: "http://127.0.0.1:3128" }, { HTTPS_PROXY: "http://127.0.0.1:3128" }],
  [
    { https_proxy: "http://127.0.0.1:3128", no_proxy: "example.org" },
    { HTTPS_PROXY: "http://127.0.0.1:3128", NO_PROXY: "example.org" },
  ],
])("the proxy of an environment of %p is %p", (env, proxy) => {
  expect(readConfig(env as Record<string, string>).proxyEnv).toEqual(proxy as Record<string, string>);
});
