import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCredentials, hashCredentials } from "../../../src/dashboard/data/find-credentials.ts";
import {
  type CliResult,
  commandLine,
  fillWallet,
  type Gateway,
  ownerEmail,
  startGateway,
} from "../../support/gateway.ts";
import { runOptimization } from "../../support/late-optimization.ts";
import { wavFile } from "../../support/wav.ts";

/** One of every kind of secret, each with a word of its own that stands nowhere else. */
const secret = {
  openai: "sk-proj-canaryOpenai0123456789abcdef",
  openaiSecond: "canaryOpenaiSecond-of-no-known-form",
  groq: "gsk_canaryGroq0123456789abcdef",
  anthropic: "canaryAnthropic-of-no-known-form",
  gemini: "AIzaCanaryGemini0123456789abcdefghij",
  sarvam: "canarySarvam-of-no-known-form",
  apiKey: "canaryApiKey0123456789abcdef",
  metrics: "canaryMetrics0123456789",
  traces: "canaryTraces0123456789",
  oidc: "canaryOidcSecret0123456789",
  stripe: "sk_test_canaryStripe0123456789",
  stripeHook: "whsec_canaryStripeHook0123456789",
  database: "canaryDatabasePassword",
  redis: "canaryRedisPassword",
  password: "canary password of the owner",
} as const;
const accessKey = `sk-mg-canary01-${secret.apiKey}`;

/** All that came out of the gateway, with where. */
const outputs: [string, string][] = [];

/** A provider that knows nothing better than to repeat what it was sent, each time in another way. */
function startEcho(): Promise<Server> {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const told = JSON.stringify(request.headers);
      const key = told.match(/(?:Bearer )?((?:sk-proj-|gsk_|AIza)?[cC]anary[\w-]+)/)?.[1] ?? "";
      const message = `No such key: ${key}; you sent ${told}`;
      const status = [400, 401, 403, 404, 413, 422, 429, 500, 503, 200, 200, 200][count % 12] as number;
      const kind = Math.floor(count++ / 12) % 4;
      const error = { error: { message, type: "invalid_request_error", param: key, code: key.slice(0, 60) } };
      const bodies = [JSON.stringify(error), message, `<html>${message}</html>`, `data: ${JSON.stringify(error)}\n\n`];
      const types = ["application/json", "text/plain", "text/html", "text/event-stream"];
      response.writeHead(status, { "content-type": types[kind] as string, "x-echo": key, "retry-after": "0" });
      response.end(bodies[kind]);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const models: [string, string][] = [
  ["famA-4o-mini", "/chat/completions"],
  ["famD-3.1-8b-instant", "/chat/completions"],
  ["famC-haiku-4-5", "/chat/completions"],
  ["famB-2.5-flash", "/chat/completions"],
  ["famF-m", "/chat/completions"],
  ["text-embedding-3-small", "/embeddings"],
  ["famB-3-pro-image-preview", "/images/generations"],
  ["famT/v1-english", "/audio/speech"],
];

describe("a secret", () => {
  let gateway: Gateway;
  let echo: Server;
  let session = "";
  let made = "";

  async function note(where: string, response: Response): Promise<string> {
    const text = await response.text().catch((error: Error) => error.message);
    const cookies = response.headers.getSetCookie().length;
    const headers = [...response.headers].filter(([name]) => name !== "set-cookie");
    outputs.push([`${where} ${response.status} (${cookies} cookies)`, `${JSON.stringify(headers)}\n${text}`]);
    return text;
  }
  const noteRun = (where: string, { stdout, stderr }: CliResult) => outputs.push([where, stdout + stderr]);

  beforeAll(async () => {
    echo = await startEcho();
    const at = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
    gateway = await startGateway({
      home: mkdtempSync(join(tmpdir(), "modelgate-canary-")),
      env: {
        MODELGATE_BOOTSTRAP_KEY: accessKey,
        OPENAI_API_KEY: `${secret.openai},${secret.openaiSecond}`,
        GROQ_API_KEY: secret.groq,
        ANTHROPIC_API_KEY: secret.anthropic,
        GEMINI_API_KEY: secret.gemini,
        SARVAM_API_KEY: secret.sarvam,
        ...Object.fromEntries(
          ["OPENAI", "GROQ", "ANTHROPIC", "GEMINI", "SARVAM"].map((name) => [`${name}_BASE_URL`, at]),
        ),
        METRICS_TOKEN: secret.metrics,
        OTEL_EXPORTER_OTLP_ENDPOINT: at,
        OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${secret.traces}`,
        OIDC_ISSUER: at,
        OIDC_CLIENT_ID: "modelgate",
        OIDC_CLIENT_SECRET: secret.oidc,
        STRIPE_SECRET_KEY: secret.stripe,
        STRIPE_WEBHOOK_SECRET: secret.stripeHook,
        LOG_LEVEL: "debug",
      },
    });
    await fillWallet(gateway);
    await callEverything();
    await signIn();
    await seePages();
    await runCommands();
    // Its collector of traces fails, and asks to be asked again at once.
    expect(await gateway.stop()).toBe(0);
    outputs.push(["stdout", gateway.stdout()], ["stderr", gateway.stderr()]);
  });

  afterAll(() => {
    echo?.closeAllConnections();
    echo?.close();
    if (gateway !== undefined) rmSync(gateway.home, { recursive: true, force: true });
  });

  async function callEverything(): Promise<void> {
    const headers = { authorization: `Bearer ${accessKey}` };
    const ways = Array.from({ length: 8 }, (_, index) => index % 2 === 1);
    for (const [model, path] of models) {
      for (const stream of ways) {
        const body = { model, stream, input: "Hello", prompt: "Hello", messages: [{ role: "user", content: "Hello" }] };
        await note(`${path} of ${model}`, await gateway.post(path, body, headers));
      }
    }
    const form = new FormData();
    form.append("file", wavFile(500));
    form.append("model", "famW-large-v3-turbo");
    await note(
      "/audio/transcriptions",
      await gateway.ask("/audio/transcriptions", { method: "POST", headers, body: form }),
    );
    await note(
      "a key as the name of a program",
      await gateway.ask("/key", { headers: { ...headers, "user-agent": accessKey } }),
    );
    for (const token of [accessKey, `${accessKey}x`, `sk-mg-canary01-${"x".repeat(20)}`, secret.metrics, "nonsense"]) {
      for (const path of ["/key", "/models", "/models/x", "/usage", "/nothing"])
        await note(`${path} by a token`, await gateway.ask(path, { headers: { authorization: `Bearer ${token}` } }));
    }
  }

  async function signIn(): Promise<void> {
    const { password } = await gateway.cli<{ password: string }>("account", "password", ownerEmail);
    const post = (path: string, body: unknown) =>
      fetch(`${gateway.origin}/api/auth/${path}`, {
        method: "POST",
        headers: { origin: gateway.origin, "content-type": "application/json", cookie: session },
        body: JSON.stringify(body),
      });
    const enter = async (with_: string) => {
      const response = await post("sign-in/email", { email: ownerEmail, password: with_ });
      session = response.headers.getSetCookie()[0]?.split(";")[0] ?? session;
      await note("sign-in", response);
    };
    await enter(password);
    await note(
      "change-password",
      await post("change-password", { currentPassword: password, newPassword: secret.password }),
    );
    session = "";
    await enter(secret.password);
    await note("a wrong sign-in", await post("sign-in/email", { email: ownerEmail, password: `${secret.password}!` }));
    await note("the session", await fetch(`${gateway.origin}/api/auth/get-session`, { headers: { cookie: session } }));
    expect(session).toContain("session=");
  }

  async function seePages(): Promise<void> {
    const see = async (path: string, headers: Record<string, string> = { cookie: session }) =>
      note(path, await fetch(`${gateway.origin}${path}`, { headers }));
    const pages = [
      "me",
      "keys",
      "entries",
      "entries.csv",
      "statement",
      "statement.csv",
      "calls",
      "models",
      "gateway",
      "live",
      "settings",
    ];
    const admin = ["accounts", "audit", "settings", "health", "statements", "statements.csv"];
    const managed = [
      "vouchers",
      "catalogue",
      "catalogue/models",
      "providers",
      "live_calls",
      "requests",
      "statements",
      "statements/csv",
      "nodes",
      "alerts",
      "alerts/channels",
    ];
    for (const page of pages) await see(`/dashboard/api/${page}`);
    for (const page of admin) await see(`/dashboard/api/admin/${page}`);
    for (const path of managed) await see(`/v1/organization/${path}`);
    const key = await fetch(`${gateway.origin}/dashboard/api/keys`, {
      method: "POST",
      headers: { origin: gateway.origin, cookie: session, "content-type": "application/json" },
      body: JSON.stringify({ name: "made by the page" }),
    });
    // Shown this once: all that comes after it must not show it again.
    made = ((await key.json()) as { key: string }).key;
    for (const page of ["keys", "me"]) await see(`/dashboard/api/${page}`);
    const lookUp = await fetch(`${gateway.origin}/v1/organization/credentials/lookup`, {
      method: "POST",
      headers: { origin: gateway.origin, cookie: session, "content-type": "application/json" },
      body: JSON.stringify({ credentials: await hashCredentials(findCredentials(accessKey)) }),
    });
    expect(await note("a look-up of a leaked key", lookUp)).toContain('"usable":true');
    await see("/dashboard/api/admin/audit");
    for (const path of ["/", "/docs", "/openapi.json", "/healthz", "/readyz", "/api/v1/usage", "/nothing"])
      await see(path);
    await see("/metrics");
    const metrics = await see("/metrics", { authorization: `Bearer ${secret.metrics}` });
    expect(metrics).toContain("# TYPE");
  }

  async function runCommands(): Promise<void> {
    const commands = [
      "config",
      "models",
      "plugin list",
      "account list",
      `account show ${ownerEmail}`,
      "key list",
      "key callers canary01",
      `wallet show ${ownerEmail}`,
      `statement --account ${ownerEmail}`,
      "statement --format csv",
      "voucher list",
      "ledger verify",
      "ledger export --from 2020-01-01 --to 2099-12-31 --format csv",
      "catalogue check",
      "version",
      "nothing",
    ];
    for (const command of commands) noteRun(command, await gateway.run(...command.split(" ")));
    for (const command of ["config", "key list"]) noteRun(command, await gateway.run(...command.split(" "), "--json"));
    const wrong = { LOG_LEVEL: "debug", SANDBOX: "on", MODELGATE_HOME: join(gateway.home, "other") };
    for (const [where, env] of [
      ["PostgreSQL", { DATABASE_URL: `postgres://me:${secret.database}@127.0.0.1:1/books?connect_timeout=2` }],
      ["PostgreSQL by a wrong URL", { DATABASE_URL: `postgrex://me:${secret.database}@127.0.0.1/books` }],
      ["Redis by a wrong URL", { REDIS_URL: `redix://:${secret.redis}@127.0.0.1:1/0` }],
      ["a wrong bootstrap key", { MODELGATE_BOOTSTRAP_KEY: secret.apiKey }],
      ["a wrong Stripe key", { STRIPE_SECRET_KEY: `no ${secret.stripe}` }],
      ["a wrong token", { METRICS_TOKEN: `${secret.metrics} and more` }],
      ["wrong headers", { OTEL_EXPORTER_OTLP_HEADERS: `${secret.traces}` }],
      ["a wrong provider's key", { OPENAI_API_KEY: `${secret.openai} and more` }],
      ["a wrong base URL", { OPENAI_BASE_URL: `https://me:${secret.openai}@example.com` }],
    ] as const) {
      noteRun(where, await runWith({ ...wrong, ...env }, ["account", "list"]));
    }
  }

  async function runWith(env: Record<string, string>, args: string[]): Promise<CliResult> {
    const all = { PATH: process.env.PATH ?? "", HOME: gateway.home, ...runOptimization, ...env };
    const child = Bun.spawn([...commandLine(), ...args], {
      env: all,
      stdout: "pipe",
      stderr: "pipe",
      timeout: 120_000,
    });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { stdout, stderr, code: await child.exited };
  }

  /** Where a text stands in anything that came out. */
  const placesOf = (text: string) => outputs.filter(([, said]) => said.includes(text)).map(([where]) => where);

  test("is used in every request of the check", () => {
    expect(outputs.length).toBeGreaterThan(130);
    expect(placesOf('"error"').length).toBeGreaterThan(40);
    expect(placesOf("OPENAI_API_KEY").length).toBeGreaterThan(0);
    expect(placesOf("upstream_refused_key")).toContain("stderr");
  });

  test.each(Object.entries(secret))("%s does not appear in any output", (_, word) => {
    for (const form of [word, encodeURIComponent(word), Buffer.from(word).toString("base64")]) {
      expect(placesOf(form)).toEqual([]);
    }
  });

  test("that was created on the way, such as a key or session, does not appear later", () => {
    const [, token] = /^session=([^.%]+)/.exec(session) ?? [];
    const last = made.split("-").at(-1) as string;
    expect([String(token).length > 20, last.length > 20]).toEqual([true, true]);
    expect(placesOf(String(token))).toEqual([]);
    expect(placesOf(last)).toEqual([]);
  });

  test("of a key or password is not in the home folder in plain text", () => {
    const words = [secret.apiKey, secret.password, made.split("-").at(-1) as string, secret.openai, secret.stripe];
    const files = readdirSync(gateway.home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const found = files.filter(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), "latin1");
      return words.some((word) => text.includes(word));
    });
    expect(found.map(({ name }) => name)).toEqual([]);
  });
});
