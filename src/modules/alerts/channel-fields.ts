import { Type } from "@sinclair/typebox";
import { type Administrator, type AuditEntry, createQuietlyAudited } from "../../audit/index.ts";
import { Address, DisplayName, GatewayError, optional, quoteValue } from "../../contract/index.ts";
import type { HttpDeps } from "../../http/deps.ts";
import type { ResourceDeps } from "../../http/resources/resource.ts";
import { defineFields } from "../../lib/fields.ts";
import {
  addChannel,
  type Channel,
  type ChannelFilter,
  changeChannel,
  channelKinds,
  deleteChannel,
  filterDefault,
  listChannels,
  type Target,
  unknownChannel,
} from "./channels.ts";
import { listMetricRules } from "./metric-rules.ts";
import { ruleNames } from "./rules.ts";
import { settings } from "./settings.ts";
import { severities } from "./subject.ts";

const oneOf = <const Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Name>(Type.Union(names.map((name) => Type.Literal(name))));

export const SeverityName = oneOf(severities);

/** The name of a channel, and the address of a webhook with the secret that signs its messages. */
export const webhookFields = {
  name: optional({
    ...DisplayName,
    maxLength: 80,
    description: "Its name in lists, digests and the audit log; `null`: its kind and host",
  }),
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  secret: Type.Optional(
    Type.String({
      pattern: "^whsec_[A-Za-z0-9+/]{32,100}={0,2}$",
      title: "whsec_…",
      maxLength: 110,
      description:
        "Signs the messages of a webhook, as Standard Webhooks do. Absent: one is generated, which the answer has once",
    }),
  ),
};

/** A channel as the API has it, with what only its creation takes. */
export interface ShownChannel extends Omit<Channel, "rules"> {
  readonly rules: readonly string[] | null;
  readonly url?: string | undefined;
  /** After its creation: the secret that was generated. */
  readonly secret?: string | undefined;
  readonly routing_key?: string | undefined;
  readonly to?: readonly string[] | undefined;
}

/** The fields of a channel. Where it leads is fixed when it is created. */
export const channelFields = defineFields<ShownChannel>()({
  kind: { schema: oneOf(channelKinds), column: "kind" },
  name: { schema: webhookFields.name, column: "name", changes: true },
  url: {
    schema: Type.Optional({
      ...webhookFields.url,
      description:
        "Of a webhook, Slack, Teams or Discord; of PagerDuty in the EU https://events.eu.pagerduty.com/v2/enqueue",
    }),
    column: "url",
    isWriteOnly: true,
  },
  secret: { schema: webhookFields.secret, column: "secret", isWriteOnly: true },
  routing_key: {
    schema: Type.Optional(
      Type.String({
        pattern: "^[A-Za-z0-9]{32}$",
        title: "e93f… (32 letters or digits)",
        maxLength: 32,
        description: "Integration key of PagerDuty's Events API v2",
      }),
    ),
    column: "routing_key",
    isWriteOnly: true,
  },
  to: {
    schema: Type.Optional(
      Type.Array(Address, { minItems: 1, maxItems: 10, description: "Addresses of an e-mail channel" }),
    ),
    column: "to",
    isWriteOnly: true,
  },
  rules: {
    schema: optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 60 }), {
        minItems: 1,
        maxItems: 60,
        description:
          "Rules whose alerts are sent: names, `metric` for all custom rules, or ids of custom rules; `null`: all",
      }),
    ),
    column: "rules",
    changes: true,
  },
  severity: {
    schema: Type.Optional({
      ...SeverityName,
      description: "Alerts that are less severe are not sent; `info` by default",
    }),
    column: "severity",
    changes: true,
  },
  digest: {
    schema: Type.Optional({
      ...oneOf(["off", "daily", "weekly"]),
      description: "`weekly`: on Mondays. Not for `pagerduty`",
    }),
    column: "digest",
    changes: true,
  },
  digest_hour: {
    schema: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 23,
        description: "Hour of the day when digests are sent, UTC; 8 by default",
      }),
    ),
    column: "digestHour",
    changes: true,
  },
});

type ChannelDeps = Pick<ResourceDeps, "store" | "now" | "secrets">;

/** The fields of a new channel. */
interface NewChannel extends Partial<Pick<ShownChannel, "rules" | "severity" | "digest" | "digestHour">> {
  readonly kind: Channel["kind"];
  readonly name?: string | null;
  readonly target: Target;
}

/** Somebody who changes channels. Their holder's own changes are not audited. */
interface ChannelOwner {
  readonly owner: string;
  readonly by?: Administrator["accountId"] | undefined;
}

/** Changes of the channels of an owner. Those that an administrator makes are audited. */
export function channelActions({ store, now, secrets: box }: ChannelDeps) {
  const audited = createQuietlyAudited(store, now);
  return {
    /** Returns the channel, with the secret of a webhook if it was generated. */
    async add({ owner, by }: ChannelOwner, { kind, name, target, ...filter }: NewChannel): Promise<ShownChannel> {
      const isSecretMissing = kind === "webhook" && target.secret === undefined;
      const generated = isSecretMissing ? { secret: createSecret() } : {};
      const fields = { owner, kind, name: name ?? undefined, target: { ...target, ...generated } };
      const whole = await readFilter({ store }, kind, filter, filterDefault);
      const channel = await audited(
        (scope) => addChannel(scope, { box, now: now(), ...fields, filter: whole }),
        ({ id, name: chosen, label }) => toEntry(by, "alert.channel", id, { name: chosen, to: label }),
      );
      return { ...toShown(channel), ...generated };
    },
    /** Absent fields stay as they are. */
    async change(
      { owner, by }: ChannelOwner,
      id: string,
      { name, ...filter }: Partial<Omit<NewChannel, "kind" | "target">>,
    ): Promise<ShownChannel> {
      const present = await findChannel({ store }, owner, id);
      const whole = await readFilter({ store }, present.kind, filter, present);
      const channel = await audited(
        (scope) => changeChannel(scope, { owner, id: present.id, name, filter: whole, now: now() }),
        ({ name: chosen, severity, digest, rules }) => {
          const detail = { name: chosen, severity, digest, rules: rules?.join(", ") ?? "all" };
          return toEntry(by, "alert.channel_change", present.id, detail);
        },
      );
      return toShown(channel);
    },
    async remove({ owner, by }: ChannelOwner, id: string): Promise<void> {
      const { name, label, ...channel } = await findChannel({ store }, owner, id);
      await audited(
        (scope) => deleteChannel(scope, owner, channel.id),
        () => toEntry(by, "alert.channel_delete", channel.id, { name, to: label }),
      );
    },
  };
}

/**
 * Finds a channel by its id, or by its name where no other has it.
 *
 * @throws {GatewayError} `not_found`; `conflict` for a name that several have.
 */
export async function findChannel(
  { store }: Pick<ChannelDeps, "store">,
  owner: string,
  text: string,
): Promise<Channel> {
  const all = await listChannels(store, owner);
  const channel = all.find(({ id }) => id === text);
  if (channel !== undefined) return channel;
  const named = all.filter(({ name }) => name === text);
  if (named[0] === undefined) throw unknownChannel();
  if (named.length === 1) return named[0];
  const ids = named.map(({ id }) => id).join(", ");
  throw new GatewayError("conflict", `${named.length} alert channels have the name ${quoteValue(text)}: ${ids}`);
}

export function toShown(channel: Channel): ShownChannel {
  return { ...channel, rules: channel.rules ?? null };
}

function createSecret(): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}`;
}

function toEntry(accountId: string | undefined, action: string, subject: string, detail: AuditEntry["detail"]) {
  return accountId === undefined ? undefined : { accountId, action, subject, detail };
}

/** The columns of a channel that say where it leads. */
type TargetColumns = Pick<ShownChannel, "kind" | "url" | "secret" | "routing_key" | "to">;

/** Reads where a new channel leads: each kind has its fields. @throws {GatewayError} `invalid_request` */
export async function readTarget(columns: TargetColumns, config: Pick<HttpDeps["config"], "of">): Promise<Target> {
  const { kind, url, secret, routing_key: routingKey, to } = columns;
  const { alertNetworks: networks = [] } = config.of(settings);
  // Commands that add no channel do not load what sends to webhooks.
  const { checkWebhookUrl } = await import("./webhook.ts");
  const expectAbsent = (...names: readonly ("url" | "secret" | "routing_key" | "to")[]) => {
    const name = names.find((one) => columns[one] !== undefined);
    if (name !== undefined) throw invalid(name, `A channel of kind ${kind} cannot have ${name}`);
  };
  switch (kind) {
    case "email":
      if (to === undefined) throw invalid("to", "An e-mail channel needs addresses in to");
      expectAbsent("url", "secret", "routing_key");
      return { to };
    case "pagerduty":
      if (routingKey === undefined) {
        throw invalid("routing_key", "A PagerDuty channel needs an integration key in routing_key");
      }
      expectAbsent("secret", "to");
      return { routingKey, ...(url !== undefined && { url: checkWebhookUrl(url, networks) }) };
    case "webhook":
      if (url === undefined) throw invalid("url", "A webhook needs url");
      expectAbsent("routing_key", "to");
      return { url: checkWebhookUrl(url, networks), ...(secret !== undefined && { secret }) };
    default:
      if (url === undefined) throw invalid("url", `A channel of kind ${kind} needs the url of its webhook`);
      expectAbsent("secret", "routing_key", "to");
      return { url: checkWebhookUrl(url, networks) };
  }
}

/**
 * Reads which messages a channel gets.
 *
 * @param present The fields that stay as they are.
 * @throws {GatewayError} `invalid_request`
 */
async function readFilter(
  { store }: Pick<ChannelDeps, "store">,
  kind: Channel["kind"],
  { rules, severity, digest, digestHour }: Partial<Pick<ShownChannel, "rules" | "severity" | "digest" | "digestHour">>,
  present: ChannelFilter,
): Promise<ChannelFilter> {
  if (rules !== undefined && rules !== null) {
    const ofMetrics = (await listMetricRules(store)).map(({ id }) => id);
    const names: readonly string[] = ["metric", ...ruleNames];
    const unknown = rules.find((rule) => !names.includes(rule) && !ofMetrics.includes(rule));
    if (unknown !== undefined) {
      throw invalid("rules", `rules has ${quoteValue(unknown)}, expected ids of custom rules or ${names.join(", ")}`);
    }
  }
  const filter = {
    rules: rules === undefined ? present.rules : (rules ?? undefined),
    severity: severity ?? present.severity,
    digest: digest ?? present.digest,
    digestHour: digestHour ?? present.digestHour,
  };
  if (kind === "pagerduty" && filter.digest !== "off") {
    throw invalid("digest", "digest is for people to read; PagerDuty gets alerts only");
  }
  return filter;
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
