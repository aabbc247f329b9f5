import { apiKeyForm, isIssuer, parseApiKey, parsePostgresUrl } from "../contract/index.ts";
import {
  accepted,
  anyText,
  choice,
  integer,
  matching,
  optional,
  type Parser,
  type Setting,
  secret,
  setting,
} from "./setting.ts";
import { areRedisUrls, hostPattern, isSmtpUrl, networks, parseOrigin, parseOrigins } from "./urls.ts";

const hostName: Parser<string> = {
  expected: "a host name or an address such as 127.0.0.1",
  parse(text) {
    const host = text.replace(/^\[(.*)\]$/, "$1");
    return hostPattern.test(host) ? host : undefined;
  },
};

const postgresUrl: Parser<string> = {
  expected: "a URL such as postgres://user:password@host:5432/name",
  parse(text) {
    parsePostgresUrl(text);
    return text;
  },
};

/** Every setting except the settings of plugins and modules, in the order of `modelgate config`. */
export const settings = {
  /** Folder of the database, plugins and catalogue overrides; absolute. */
  home: setting("MODELGATE_HOME", "~/.modelgate", anyText("a folder")),
  host: setting("HOST", "127.0.0.1", hostName),
  /** 0 takes any free port. */
  port: setting("PORT", "3000", integer(0, 65_535)),
  /** Path before every endpoint, without a trailing slash; empty at the root. */
  basePath: setting("BASE_PATH", "/api/v1", {
    expected: "a path such as /api/v1",
    parse: (text) => (/^(\/[A-Za-z0-9._~-]+)*\/?$/.test(text) ? text.replace(/\/$/, "") : undefined),
  }),
  /** Origins whose pages may call the API from a browser, `*` for any; absent: no other origin. */
  corsOrigins: optional("CORS_ORIGINS", {
    expected: "comma-separated origins such as https://app.example.com, at most 100, or *",
    parse: parseOrigins,
  }),
  /** Free quota of an account in tokens per UTC day. */
  freeTokensPerDay: setting("FREE_TOKENS_PER_DAY", "250000", integer(0)),
  /** Free tokens per day for an account whose e-mail is not verified. */
  signUpFreeTokensPerDay: setting("SIGNUP_FREE_TOKENS_PER_DAY", "0", integer(0)),
  requestsPerMinute: setting("REQUESTS_PER_MINUTE", "600", integer(1)),
  tokensPerMinute: setting("TOKENS_PER_MINUTE", "4000000", integer(1)),
  /** PostgreSQL instead of the embedded database in the home folder. */
  databaseUrl: secret("DATABASE_URL", postgresUrl),
  /** How long a call waits for PostgreSQL before it is refused. */
  databaseTimeoutMs: setting("DATABASE_TIMEOUT_MS", "2000", integer(100, 60_000, " of milliseconds")),
  /** `full`: a commit is on the disk before it is acknowledged; `normal`: some time later. */
  sqliteSynchronous: setting("SQLITE_SYNCHRONOUS", "full", choice("full", "normal")),
  /** How long single calls are kept; their sums stay. */
  callRetentionDays: setting("CALL_RETENTION_DAYS", "90", integer(1, 36_500)),
  /** How long the responses of POST /responses can be gone on from after their last use; 0: they are not stored. */
  responsesTtlMinutes: setting("RESPONSES_TTL_MINUTES", "60", integer(0, 43_200, " of minutes", " (not stored)")),
  /** Whether `GET /responses` opens WebSockets; if not, clients are answered 426 and use POST. */
  responsesWebSockets: setting("RESPONSES_WEBSOCKETS", "on", choice("on", "off")),
  /** Whether turns of these go to providers by WebSocket, where a provider has it. */
  providerWebSockets: setting("PROVIDER_WEBSOCKETS", "on", choice("on", "off")),
  /** Limit of the responses stored for one account; beyond that the oldest are deleted. */
  responsesMaxMb: setting("RESPONSES_MAX_MB", "64", integer(1, 1_000_000, " of megabytes")),
  /**
   * Limit of the images stored for one account that are answered as URLs, each for an hour; beyond that they are
   * refused.
   */
  filesMaxMb: setting("FILES_MAX_MB", "1024", integer(1, 1_000_000, " of megabytes")),
  /** Concurrent calls of one account; absent: unlimited. */
  concurrentCalls: optional("CONCURRENT_CALLS", integer(1)),
  /** Usable keys of one account. */
  maxKeysPerAccount: setting("MAX_KEYS_PER_ACCOUNT", "1000", integer(1)),
  /** The most searches of the web of a request that sets no limit itself. */
  webSearches: setting("WEB_SEARCHES", "8", integer(0, 1000, "", " (none)")),
  /** Whether prompts are marked for the caches of providers where a client marks nothing. */
  cacheMarks: setting("CACHE_MARKS", "auto", choice("auto", "off")),
  /** Whether networks and programs that use a key are counted by day. */
  keyCallers: setting("KEY_CALLERS", "on", choice("on", "off")),
  /** Concurrent calls of all accounts in one process. */
  maxConcurrentCalls: setting("MAX_CONCURRENT_CALLS", "12000", integer(1, 1_000_000)),
  /** How late the event loop may be before new calls are refused; 0: any delay is accepted. */
  overloadLagMs: setting("OVERLOAD_LAG_MS", "30", integer(0, 60_000, " of milliseconds", " (any)")),
  /** Memory for large request bodies that are being handled, in megabytes. */
  maxBufferedBodyMb: setting("MAX_BUFFERED_BODY_MB", "256", integer(1, 1_000_000, " of megabytes")),
  /** How long a request may take to arrive, and a kept connection may be idle. */
  requestTimeoutSeconds: setting("REQUEST_TIMEOUT_SECONDS", "120", integer(5, 255, " of seconds")),
  /** Silence in a stream before a comment is sent in it; 0: never. */
  sseHeartbeatSeconds: setting("SSE_HEARTBEAT_SECONDS", "10", integer(0, 240, " of seconds", " (never)")),
  /** The longest silence of a provider, before its answer and within it; rows of models may have their own. */
  upstreamTimeoutSeconds: setting("UPSTREAM_TIMEOUT_SECONDS", "300", integer(1, 3600, " of seconds")),
  /** How long running calls may continue after the process receives a signal to end. */
  drainSeconds: setting("DRAIN_SECONDS", "30", integer(0, 3600, " of seconds")),
  /** How long new calls are still accepted after that, while `/readyz` already reports the drain. */
  drainNoticeSeconds: setting("DRAIN_NOTICE_SECONDS", "0", integer(0, 300, " of seconds")),
  /** Shares limits and quotas between gateways with the same PostgreSQL; absent: each process has its own. */
  redisUrl: secret(
    "REDIS_URL",
    accepted(
      areRedisUrls,
      "a URL such as redis://user:password@host:6379/0, rediss: for TLS, or the nodes of a cluster separated by commas",
    ),
  ),
  /** How long a call waits for Redis in all, before its limits are counted without it. */
  redisTimeoutMs: setting("REDIS_TIMEOUT_MS", "250", integer(10, 250, " of milliseconds")),
  /** Processes on one port. */
  workers: setting("WORKERS", "1", integer(1, 256)),
  /** The number of this worker, from 1; 0 for a single process and for the parent of several. */
  worker: setting("MODELGATE_WORKER", "0", {
    ...integer(0, 256),
    expected: "it not to be set: the parent of several WORKERS sets it",
  }),
  /** The first API key, for scripts; absent: one is generated. */
  bootstrapKey: secret(
    "MODELGATE_BOOTSTRAP_KEY",
    accepted((text) => parseApiKey(text) !== undefined, apiKeyForm),
  ),
  /** Whether anyone may create an account. */
  signUp: setting("SIGNUP", "closed", choice("open", "closed")),
  /** The origin under which users reach the gateway; absent: the address it listens on. */
  publicUrl: optional("PUBLIC_URL", {
    expected: "the origin under which users reach the gateway, such as https://gate.example.com, without a path",
    parse: parseOrigin,
  }),
  /** Proxies that are believed when they name the client in `x-forwarded-for`. */
  trustedProxies: setting("TRUSTED_PROXIES", "127.0.0.0/8,::1", networks),
  /** The OpenID Connect identity provider; absent: users sign in with passwords only. */
  oidcIssuer: optional(
    "OIDC_ISSUER",
    accepted(isIssuer, "an issuer URL such as https://id.example.com; http only on this machine"),
  ),
  oidcClientId: optional("OIDC_CLIENT_ID", anyText("the client id that the issuer assigned to this gateway")),
  oidcClientSecret: secret("OIDC_CLIENT_SECRET", anyText("the client secret that belongs to OIDC_CLIENT_ID")),
  /** Scopes requested from the issuer. */
  oidcScopes: setting(
    "OIDC_SCOPES",
    "openid email profile",
    matching(/^openid( [\x21\x23-\x5b\x5d-\x7e]+)*$/, "scopes separated by spaces, with openid as the first"),
  ),
  /** The claim that decides the role of those who sign in with the issuer, such as `groups`; absent: none does. */
  oidcRoleClaim: optional("OIDC_ROLE_CLAIM", matching(/^\S{1,200}$/, "the name of a claim such as groups")),
  /** Values of that claim and their roles; other values make a member. */
  oidcRoles: optional("OIDC_ROLES", {
    expected: "pairs of a value and a role such as gateway-admins=admin,auditors=viewer",
    parse: parseRolePairs,
  }),
  /**
   * Issuers whose tokens (JWT) are accepted in place of API keys, instead of those set on the dashboard; checked at the
   * start.
   */
  jwtIssuers: optional("JWT_ISSUERS", matching(/^\[/, "a JSON list of issuers")),
  /** Private networks where the keys of token issuers may be fetched; absent: public addresses only. */
  jwtNetworks: optional("JWT_NETWORKS", networks),
  /** The mail server and the sender of its mail, instead of those set on the dashboard. */
  smtpUrl: secret(
    "SMTP_URL",
    accepted(isSmtpUrl, "a URL such as smtp://user:password@mail.example.com:587, or smtps: for TLS from the start"),
  ),
  smtpFrom: optional(
    "SMTP_FROM",
    matching(/^[^\s@<>,]{1,64}@[^\s@<>,]{1,189}$/, "the sender's address such as gateway@example.com"),
  ),
  /** Encrypts the providers' keys that the database has; absent: by the file `secrets.key` in the home folder. */
  secretsKey: secret("SECRETS_KEY", matching(/^[\x21-\x7e]{32,256}$/, "32 to 256 characters without spaces")),
  /** A second folder of plugins, in addition to `plugins` in the home folder; absolute. */
  pluginsDir: optional("PLUGINS_DIR", anyText("a folder")),
  /** Key that signs the files of `catalogue update`; absent: no file is accepted. */
  cataloguePublicKey: optional(
    "CATALOGUE_PUBLIC_KEY",
    matching(
      /^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$/,
      "an Ed25519 public key such as MCowBQYDK2VwAyEA…, as catalogue sign prints it",
    ),
  ),
  logLevel: setting("LOG_LEVEL", "info", choice("debug", "info", "warn", "error", "silent")),
  /** `auto`: `pretty` when standard error is a terminal, else `json`. */
  logFormat: setting("LOG_FORMAT", "auto", choice("auto", "json", "pretty")),
  /** Port of `/metrics`, apart from the API's; the second of several workers has the next, and so on. */
  metricsPort: optional("METRICS_PORT", integer(0, 65_535)),
  metricsHost: setting("METRICS_HOST", "127.0.0.1", hostName),
  /** Bearer token of a scrape; without METRICS_PORT it opens `/metrics` on the API's port. */
  metricsToken: secret("METRICS_TOKEN", matching(/^[\x21-\x7e]{16,256}$/, "16 to 256 characters without spaces")),
  /** Simulated answers; `auto`: on a loopback address when no provider has a credential. */
  sandbox: setting("SANDBOX", "auto", choice("on", "off", "auto")),
} satisfies Record<string, Setting>;

const pairPattern = /^.{1,500}=(owner|admin|viewer|member)$/su;

/**
 * Splits `gateway-admins=admin,auditors=viewer`. A value may have commas itself, as the names of a directory do:
 * `cn=admins,ou=gateway=admin`.
 *
 * @returns Each pair as it is written; `undefined` when a part has no role.
 */
export function parseRolePairs(text: string): readonly string[] | undefined {
  const pairs: string[] = [];
  let pending = "";
  for (const part of text.split(",")) {
    pending = pending === "" ? part.trim() : `${pending},${part}`;
    if (!pairPattern.test(pending)) continue;
    pairs.push(pending);
    pending = "";
  }
  return pending === "" && pairs.length > 0 ? pairs : undefined;
}
