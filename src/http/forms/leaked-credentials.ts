import { type Static, Type } from "@sinclair/typebox";
import type { Administrator } from "../../audit/index.ts";
import { formatUsd, GatewayError, toRealEmail } from "../../contract/index.ts";
import { credentialTypes, findHolders, findLeaked, type Leaked, type LeakedCredential } from "../../identity/index.ts";
import { graceSecondsMax, revokeAdminKey } from "../../keys/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import { findSmtp, sendEmail, toHarmlessText } from "../../mail/index.ts";
import { type KeyCaller, readKeyCallers, readKeyCosts } from "../../reports/index.ts";
import { emailsOf, findAccounts } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";

/** Credentials of one request. */
const credentialsMax = 20;
/** Requests of one person or admin key: each is about something that somebody has found. */
const lookupsPerMinuteMax = 30;
/** Origins of one key in an answer about credentials; the list of a key has all. */
const callersShownMax = 20;
/** Days of the costs and callers of a key. */
const shownDays = 30;
const dayMs = 86_400_000;

export const CredentialKind = Type.Union(credentialTypes.map((type) => Type.Literal(type)));
const CredentialId = Type.String({ minLength: 4, maxLength: 64, pattern: "^[0-9A-Za-z]+$" });

export const Lookup = formBody({
  credentials: Type.Array(
    Type.Object(
      {
        type: CredentialKind,
        id: Type.Optional(CredentialId),
        sha256: Type.Optional(
          Type.String({
            pattern: "^[0-9a-f]{64}$",
            description:
              "SHA-256 of the secret, the part behind the id, in hex; of a refresh token, of its last 48 digits. Without an `id`: of the whole text of an imported API key",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    { minItems: 1, maxItems: credentialsMax },
  ),
});

export const Revocation = formBody({
  type: CredentialKind,
  id: CredentialId,
  action: Type.Optional(
    Type.Union([Type.Literal("revoke"), Type.Literal("rotate")], {
      description:
        "`rotate` replaces the secret of an API key and keeps its name, limits and budget; default: `revoke`",
    }),
  ),
  grace_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: graceSecondsMax,
      description: "How long a rotated secret still works; default: 0, since it has leaked",
    }),
  ),
  notify_holder: Type.Optional(Type.Boolean({ description: "Whether the holder is written to; default: true" })),
});

/** Writes times as an API does. */
type ToTime<Time> = (at: number) => Time;

function toCallerJson<Time>(caller: KeyCaller & { readonly isNew: boolean }, toTime: ToTime<Time>) {
  return {
    object: "organization.project.api_key.caller" as const,
    network: caller.network,
    program: caller.program,
    requests: caller.requests,
    first_seen_at: toTime(caller.firstAt),
    last_seen_at: toTime(caller.lastAt),
    is_new: caller.isNew,
  };
}

/** A credential as JSON. */
interface CredentialJson<Time> {
  readonly object: "organization.credential";
  readonly type: Leaked["type"];
  readonly id: string | null;
  readonly status: LeakedCredential["status"] | "not_found";
  readonly secret: LeakedCredential["secret"];
  readonly usable: boolean | null;
  readonly usable_until: Time | null;
  readonly replaced_at: Time | null;
  readonly name: string | null;
  readonly key_id: string | null;
  readonly project: { readonly id: string; readonly name: string | null; readonly email: string | null } | null;
  readonly created_by: string | null;
  readonly created_at: Time | null;
  readonly expires_at: Time | null;
  readonly revoked_at: Time | null;
  readonly last_used_at: Time | null;
  readonly cost_today_usd: string | null;
  readonly cost_30_days_usd: string | null;
  readonly callers: readonly ReturnType<typeof toCallerJson<Time>>[];
  readonly holders: readonly string[];
  readonly can_rotate: boolean;
}

/** The rest of a credential that is not found, or that the finder may not see. */
const notFound = {
  status: "not_found",
  secret: "unchecked",
  usable: null,
  usable_until: null,
  replaced_at: null,
  name: null,
  key_id: null,
  project: null,
  created_by: null,
  created_at: null,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  cost_today_usd: null,
  cost_30_days_usd: null,
  callers: [],
  holders: [],
  can_rotate: false,
} as const;

/** Somebody who looks up and ends credentials, and how far they may. */
interface Finder extends Administrator {
  /** @throws {GatewayError} `forbidden` for a credential that they may see and not end. */
  readonly expectMayEnd: (credential: LeakedCredential, action: "revoke" | "rotate") => Promise<void> | void;
  /** Whether they may see it; it is not found otherwise. */
  readonly maySee: (credential: LeakedCredential) => boolean;
}

interface Ending {
  readonly action: "revoke" | "rotate";
  readonly graceSeconds: number;
}

/** Looks up credentials that were found somewhere, and ends them, for both APIs. */
export function leakedCredentials(deps: HttpDeps) {
  const { store, now, accounts } = deps;
  const lookups = new RateLimiter(lookupsPerMinuteMax, now, { what: "look-ups of credentials" });

  /** Reads from where a key was used. */
  async function readCallers<Time>(keyId: string, toTime: ToTime<Time>, most?: number) {
    await deps.keyCallers?.freshen();
    const callers = await readKeyCallers(store, { keyId, days: shownDays, now: now() });
    return callers.slice(0, most).map((caller) => toCallerJson(caller, toTime));
  }

  async function describe<Time>(
    leaked: Leaked,
    finder: Pick<Finder, "maySee">,
    toTime: ToTime<Time>,
  ): Promise<CredentialJson<Time>> {
    const toTimeOrNull = (at: number | undefined) => (at === undefined ? null : toTime(at));
    const credential = await findLeaked(store, leaked, now());
    const common = { object: "organization.credential" as const, type: leaked.type };
    if (credential === undefined || !finder.maySee(credential)) {
      return { ...common, ...notFound, id: leaked.id ?? null };
    }
    const { apiKey, adminKey } = credential;
    const key = apiKey ?? adminKey;
    const account = apiKey && (await findAccounts(store, [apiKey.accountId])).get(apiKey.accountId);
    const costs = apiKey && (await readCosts(apiKey));
    const makers = await emailsOf(store, [key?.createdBy ?? ""]);
    return {
      ...common,
      id: credential.id,
      status: credential.status,
      secret: credential.secret,
      usable: credential.isUsable ?? null,
      usable_until: credential.isUsable === true ? toTimeOrNull(credential.until) : null,
      replaced_at: toTimeOrNull(credential.replacedAt),
      name: key?.name ?? null,
      key_id: apiKey?.id ?? null,
      project:
        account === undefined
          ? null
          : { id: account.id, name: account.name ?? null, email: toRealEmail(account.email) },
      created_by: makers.get(key?.createdBy ?? "") ?? null,
      created_at: toTimeOrNull(key?.createdAt),
      expires_at: toTimeOrNull(key?.expiresAt),
      revoked_at: toTimeOrNull(key?.revokedAt),
      last_used_at: toTimeOrNull(key?.lastUsedAt),
      cost_today_usd: costs === undefined ? null : formatUsd(costs.today),
      cost_30_days_usd: costs === undefined ? null : formatUsd(costs.days),
      callers: apiKey === undefined ? [] : await readCallers(apiKey.id, toTime, callersShownMax),
      holders: await findHoldersOf(credential),
      can_rotate: canRotate(credential),
    };
  }

  async function readCosts(key: { readonly id: string; readonly accountId: string }) {
    await deps.rollup?.freshen();
    const last = Math.floor(now() / dayMs);
    const of = async (first: number) => (await readKeyCosts(store, [key], { first, last })).get(key.id) ?? 0;
    return { today: await of(last), days: await of(last - shownDays + 1) };
  }

  function findHoldersOf({ apiKey, adminKey }: LeakedCredential) {
    if (apiKey !== undefined) return findHolders(store, apiKey);
    const createdBy = adminKey?.createdBy ?? "";
    return findHolders(store, { accountId: createdBy, createdBy });
  }

  /** Ends it. Returns the new key, if it was rotated. */
  async function endNow({ apiKey, adminKey }: LeakedCredential, by: Administrator, { action, graceSeconds }: Ending) {
    if (adminKey !== undefined) await revokeAdminKey(store, { by, id: adminKey.id }, now());
    if (apiKey === undefined) return undefined;
    if (action === "rotate") return (await accounts.rotateKey(apiKey.id, graceSeconds, by.accountId)).key;
    await accounts.revokeKey(apiKey.id, by.accountId);
    return undefined;
  }

  /** Writes to the holders, except to whoever ended it. Returns why it was not done. */
  async function mailHolders(holders: readonly string[], mail: { subject: string; text: string }) {
    if (holders.length === 0) return "It has no holder with a verified e-mail";
    try {
      const smtp = await findSmtp(deps);
      if (smtp === undefined) return "No mail server is set up, so tell the holder yourself";
      await sendEmail(smtp, holders, { id: `leak_${crypto.randomUUID()}`, ...mail });
      return undefined;
    } catch (error) {
      deps.log.warn("leak_mail_not_sent", { error });
      return error instanceof Error && error.name === "DeliveryError" ? error.message : "The message could not be sent";
    }
  }

  return {
    readCallers,
    async lookUp<Time>(
      body: Static<typeof Lookup>,
      finder: Pick<Finder, "accountId" | "maySee">,
      toTime: ToTime<Time>,
    ) {
      lookups.take(finder.accountId);
      const described: CredentialJson<Time>[] = [];
      for (const leaked of body.credentials) {
        if (leaked.id === undefined && (leaked.type !== "api_key" || leaked.sha256 === undefined)) {
          const message = "A credential without an id is an imported API key, by the sha256 of all of its text";
          throw new GatewayError("invalid_request", message, { param: "credentials" });
        }
        described.push(await describe(leaked, finder, toTime));
      }
      return { object: "list" as const, data: described, can_mail: (await findSmtp(deps)) !== undefined };
    },
    /** @throws {GatewayError} `not_found`, `forbidden`, `conflict` for one that has ended or cannot be rotated. */
    async end(body: Static<typeof Revocation>, finder: Finder) {
      const { type, id, action = "revoke", grace_seconds: graceSeconds = 0, notify_holder: notifies = true } = body;
      const credential = await findLeaked(store, { type, id }, now());
      if (credential === undefined || !finder.maySee(credential)) {
        throw new GatewayError("not_found", "No credential that you may end has this type and id");
      }
      await finder.expectMayEnd(credential, action);
      if (action === "rotate" && !canRotate(credential)) {
        throw new GatewayError("conflict", "Only an active API key with a secret of its own can be rotated; revoke it");
      }
      const holders = notifies ? await findHoldersOf(credential) : [];
      const ending = { action, graceSeconds };
      const value = await endNow(credential, finder, ending);
      const own = (await emailsOf(store, [finder.accountId])).get(finder.accountId);
      const others = holders.filter((email) => email !== own);
      const mail = toMail(credential, { ...ending, at: now(), publicUrl: deps.config.publicUrl });
      const isOwn = holders.length > 0 && others.length === 0;
      const error = notifies && !isOwn ? await mailHolders(others, mail) : undefined;
      return {
        object: "organization.credential.revoked" as const,
        type,
        id,
        action,
        value: value ?? null,
        mailed_to: notifies && error === undefined ? others : [],
        mail_error: error ?? null,
      };
    },
  };
}

function toMail(
  { apiKey, adminKey }: LeakedCredential,
  { action, graceSeconds, at, publicUrl }: Ending & { readonly at: number; readonly publicUrl: string | undefined },
): { subject: string; text: string } {
  const what = apiKey === undefined ? `admin key ${adminKey?.id}` : `API key sk-mg-${apiKey.id}-…`;
  const name = toHarmlessText((apiKey ?? adminKey)?.name ?? "");
  const end = new Date(at + graceSeconds * 1000).toISOString().slice(0, 16).replace("T", " ");
  const [happened, next] =
    action === "revoke"
      ? [
          `It was revoked at ${end} UTC, and programs that use it are refused.`,
          "Create a new key for your programs, and remove the old one wherever it is stored.",
        ]
      : [
          `Its secret was replaced. The old one ${graceSeconds === 0 ? "ended at" : "works until"} ${end} UTC.`,
          "Rotate the key yourself, or ask the operator for its new secret, and give it to your programs.",
        ];
  const text = [
    `The ${what}, named ${JSON.stringify(name)}, was found where others may have read it.`,
    happened,
    next,
    ...(publicUrl === undefined ? [] : [`Your keys are on ${publicUrl}/keys.`]),
    "Nobody will ask you for a key in an answer to this message.",
  ];
  return { subject: "A key of yours has leaked", text: text.join("\n\n") };
}

function canRotate({ apiKey, status, type }: LeakedCredential): boolean {
  const hasSecret = apiKey !== undefined && apiKey.tokenSubject === undefined && apiKey.createdBy !== undefined;
  return type === "api_key" && hasSecret && status === "active";
}
