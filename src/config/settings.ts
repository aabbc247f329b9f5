import { Type } from "@sinclair/typebox";
import { apiKeyForm, parseApiKey } from "../contract/index.ts";
import { watchSettings } from "./observability.ts";
import { define, hostForm, oneOf, type Setting, toWhole, withoutBrackets } from "./setting.ts";
import { areRedisUrls, isIssuer, isPostgresUrl, readOrigin, readOrigins } from "./urls.ts";

const count = (minimum: number) => Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER });

/** Every setting but those of the plugins. */
export const settings = {
  /** Folder of the database, plugins and catalogue overrides; absolute. */
  home: define({
    variable: "MODELGATE_HOME",
    schema: Type.String({ minLength: 1 }),
    expected: "a folder",
    fallback: "~/.modelgate",
  }),
  /** Address to listen on. */
  host: define({
    variable: "HOST",
    schema: Type.String({ pattern: hostForm }),
    expected: "a host name or an address such as 127.0.0.1",
    fallback: "127.0.0.1",
    read: withoutBrackets,
  }),
  /** Port to listen on; 0 takes any free one. */
  port: define({
    variable: "PORT",
    schema: Type.Integer({ minimum: 0, maximum: 65_535 }),
    expected: "a whole number from 0 to 65535",
    fallback: "3000",
    read: toWhole,
  }),
  /** Path before every endpoint, without a trailing slash; empty at the root. */
  basePath: define({
    variable: "BASE_PATH",
    schema: Type.String({ pattern: "^(/[A-Za-z0-9._~-]+)*$" }),
    expected: "a path such as /api/v1",
    fallback: "/api/v1",
    read: (text) => text.replace(/\/$/, ""),
  }),
  /** Origins whose pages may call the API from a browser, `*` for any; absent: none of another's. */
  corsOrigins: define({
    variable: "CORS_ORIGINS",
    schema: Type.Union([Type.Array(Type.String(), { maxItems: 100 }), Type.Undefined()]),
    expected: "origins by comma such as https://app.example.com, at most 100, or *",
    fallback: undefined,
    read: readOrigins,
  }),
  /** Tokens of the free quota of an account in a UTC day. */
  freeTokensPerDay: define({
    variable: "FREE_TOKENS_PER_DAY",
    schema: count(0),
    expected: "a whole number from 0",
    fallback: "250000",
    read: toWhole,
  }),
  requestsPerMinute: define({
    variable: "REQUESTS_PER_MINUTE",
    schema: count(1),
    expected: "a whole number from 1",
    fallback: "600",
    read: toWhole,
  }),
  tokensPerMinute: define({
    variable: "TOKENS_PER_MINUTE",
    schema: count(1),
    expected: "a whole number from 1",
    fallback: "1000000",
    read: toWhole,
  }),
  /** PostgreSQL instead of the embedded database; absent: a file in the home folder. */
  databaseUrl: define({
    variable: "DATABASE_URL",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "a URL such as postgres://user:password@host:5432/name",
    fallback: undefined,
    secret: true,
    read: (text) => (isPostgresUrl(text) ? text : null),
  }),
  /** When the embedded database has a commit on the disk: before it is told, or some time later. */
  sqliteSynchronous: define({
    variable: "SQLITE_SYNCHRONOUS",
    schema: oneOf("full", "normal"),
    expected: "full or normal",
    fallback: "full",
    read: (text) => text.toLowerCase(),
  }),
  /** How long single calls are kept; their sums stay. */
  callRetentionDays: define({
    variable: "CALL_RETENTION_DAYS",
    schema: Type.Integer({ minimum: 1, maximum: 36_500 }),
    expected: "a whole number from 1 to 36500",
    fallback: "90",
    read: toWhole,
  }),
  /** Calls of an account that may run at once; absent: any number. */
  concurrentCalls: define({
    variable: "CONCURRENT_CALLS",
    schema: Type.Union([count(1), Type.Undefined()]),
    expected: "a whole number from 1",
    fallback: undefined,
    read: toWhole,
  }),
  /** Calls of all accounts that may run at once in one process. */
  callsMax: define({
    variable: "MAX_CONCURRENT_CALLS",
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    expected: "a whole number from 1 to 1000000",
    fallback: "12000",
    read: toWhole,
  }),
  /** How late the event loop may be before new calls are refused; 0: however late. */
  overloadLagMs: define({
    variable: "OVERLOAD_LAG_MS",
    schema: Type.Integer({ minimum: 0, maximum: 60_000 }),
    expected: "a whole number of milliseconds from 0 (any) to 60000",
    fallback: "30",
    read: toWhole,
  }),
  /** Of large bodies that are at work at once, in megabytes. */
  bodiesMb: define({
    variable: "MAX_BUFFERED_BODY_MB",
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    expected: "a whole number of megabytes from 1",
    fallback: "256",
    read: toWhole,
  }),
  /** How long a request may take to arrive, and a kept connection may be idle. */
  bodySeconds: define({
    variable: "REQUEST_TIMEOUT_SECONDS",
    schema: Type.Integer({ minimum: 5, maximum: 255 }),
    expected: "a whole number of seconds from 5 to 255",
    fallback: "120",
    read: toWhole,
  }),
  /** Of silence in a stream until a comment is sent in it; 0: none is. */
  keepAliveSeconds: define({
    variable: "SSE_HEARTBEAT_SECONDS",
    schema: Type.Integer({ minimum: 0, maximum: 240 }),
    expected: "a whole number of seconds from 0 (never) to 240",
    fallback: "10",
    read: toWhole,
  }),
  /** How long calls at work may go on when the process is asked to end. */
  drainSeconds: define({
    variable: "DRAIN_SECONDS",
    schema: Type.Integer({ minimum: 0, maximum: 3600 }),
    expected: "a whole number of seconds from 0 to 3600",
    fallback: "30",
    read: toWhole,
  }),
  /** How long calls are still taken when the process is asked to end, while `/readyz` says so already. */
  drainNoticeSeconds: define({
    variable: "DRAIN_NOTICE_SECONDS",
    schema: Type.Integer({ minimum: 0, maximum: 300 }),
    expected: "a whole number of seconds from 0 to 300",
    fallback: "0",
    read: toWhole,
  }),
  /** Shares limits and quotas between the gateways of one PostgreSQL; absent: each keeps limits alone. */
  redisUrl: define({
    variable: "REDIS_URL",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "a URL such as redis://user:password@host:6379/0, rediss: for TLS, or nodes of a cluster by comma",
    fallback: undefined,
    secret: true,
    read: (text) => (areRedisUrls(text) ? text : null),
  }),
  /** Processes on one port. */
  workers: define({
    variable: "WORKERS",
    schema: Type.Integer({ minimum: 1, maximum: 256 }),
    expected: "a whole number from 1 to 256",
    fallback: "1",
    read: toWhole,
  }),
  /** Which of several processes this is, from 1; 0 for one alone and for the parent of several. */
  worker: define({
    variable: "MODELGATE_WORKER",
    schema: Type.Integer({ minimum: 0, maximum: 256 }),
    expected: "nothing: the parent of several WORKERS sets it",
    fallback: "0",
    read: toWhole,
  }),
  /** A given first API key, for scripts; absent: one is made. */
  bootstrapKey: define({
    variable: "MODELGATE_BOOTSTRAP_KEY",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: apiKeyForm,
    fallback: undefined,
    secret: true,
    read: (text) => (parseApiKey(text) === undefined ? null : text),
  }),
  /** Whether a stranger may make an account. */
  signUp: define({
    variable: "SIGNUP",
    schema: oneOf("open", "closed"),
    expected: "open or closed",
    fallback: "closed",
    read: (text) => text.toLowerCase(),
  }),
  /** Where people reach the gateway, without a path; absent: where it listens. */
  publicUrl: define({
    variable: "PUBLIC_URL",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "where people reach the gateway, such as https://gate.example.com, without a path",
    fallback: undefined,
    read: (text) => readOrigin(text) ?? null,
  }),
  /** Whose word is taken for who somebody is, beside passwords; absent: nobody's. */
  oidcIssuer: define({
    variable: "OIDC_ISSUER",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "an issuer's address such as https://id.example.com; http only on this machine",
    fallback: undefined,
    read: (text) => (isIssuer(text) ? text : null),
  }),
  oidcClientId: define({
    variable: "OIDC_CLIENT_ID",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "the id under which the issuer knows this gateway",
    fallback: undefined,
  }),
  oidcClientSecret: define({
    variable: "OIDC_CLIENT_SECRET",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "the secret that the issuer gave for OIDC_CLIENT_ID",
    fallback: undefined,
    secret: true,
  }),
  /** Takes payments by Stripe; absent, as the next: none are taken. */
  stripeSecretKey: define({
    variable: "STRIPE_SECRET_KEY",
    schema: Type.Union([Type.String({ pattern: "^(sk|rk)_[A-Za-z0-9_]{8,}$" }), Type.Undefined()]),
    expected: "a secret key of Stripe such as sk_live_…",
    fallback: undefined,
    secret: true,
  }),
  /** Proves that messages about payments are Stripe's. */
  stripeWebhookSecret: define({
    variable: "STRIPE_WEBHOOK_SECRET",
    schema: Type.Union([Type.String({ pattern: "^whsec_[A-Za-z0-9+/=_-]{8,}$" }), Type.Undefined()]),
    expected: "the signing secret of Stripe's webhook such as whsec_…",
    fallback: undefined,
    secret: true,
  }),
  /** A second folder of plugins, beside `plugins` in the home folder; absolute. */
  pluginsDir: define({
    variable: "PLUGINS_DIR",
    schema: Type.Union([Type.String({ minLength: 1 }), Type.Undefined()]),
    expected: "a folder",
    fallback: undefined,
  }),
  logLevel: define({
    variable: "LOG_LEVEL",
    schema: oneOf("debug", "info", "warn", "error", "silent"),
    expected: "debug, info, warn, error or silent",
    fallback: "info",
    read: (text) => text.toLowerCase(),
  }),
  ...watchSettings,
  /** Simulated answers: `auto` turns them on without any credential on a loopback address. */
  sandbox: define({
    variable: "SANDBOX",
    schema: oneOf("on", "off", "auto"),
    expected: "on, off or auto",
    fallback: "auto",
    read: (text) => text.toLowerCase(),
  }),
} satisfies Record<string, Setting>;
