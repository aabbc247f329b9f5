import { type Static, type TObject, Type } from "@sinclair/typebox";
import { nullable } from "../../contract/index.ts";
import { defineResource, pageOf } from "../../http/resources/resource.ts";
import { eachAccount } from "../../tenants/index.ts";
import {
  channelActions,
  channelFields,
  findChannel,
  readTarget,
  type ShownChannel,
  toShown,
} from "./channel-fields.ts";
import { listChannels } from "./channels.ts";
import { gatewayOwner } from "./rule-settings.ts";

const derived = {
  object: Type.Literal("organization.alert.channel"),
  name: Type.String(),
  label: Type.String({
    description: "The origin of a webhook, or the addresses. The full URL of a webhook is never returned",
  }),
  created_at: Type.Integer(),
  sent_at: nullable(Type.Integer()),
  error: nullable(Type.String({ description: "Error of the last message; `null`: it was accepted" })),
  error_at: nullable(Type.Integer()),
};

const toSeconds = (at: number | undefined) => (at === undefined ? null : Math.floor(at / 1000));
const ownerOf = ({ accountId }: { readonly accountId: string }) => ({ owner: gatewayOwner, by: accountId });

/** Channels that the messages of the gateway's alerts go to. Account holders have their own ones on their pages. */
export const alertChannels = defineResource<ShownChannel, typeof channelFields, Static<TObject<typeof derived>>>()({
  name: "alert channel",
  area: "alerts",
  idName: "channel_id",
  fields: channelFields,
  derived,
  secret: {
    secret: Type.Optional(
      Type.String({ description: "The generated secret that signs the messages of a webhook. It is shown only here" }),
    ),
  },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.alert.channel.deleted",
  mounts: [
    {
      path: "/organization/alerts/channels",
      owner: "gateway",
      creates:
        "Of kind e-mail, webhook, Slack, Teams, Discord or PagerDuty. Addresses, secrets and integration keys are stored encrypted and not shown again.",
      changes: "Absent fields stay as they are.",
      example: { kind: "webhook", name: "On call", url: "https://hooks.example.com/alerts", severity: "warning" },
      changeExample: { severity: "critical", digest: "weekly", digest_hour: 8 },
    },
  ],
  commands: {
    group: "channel",
    create: "--kind slack --name Operations --url https://hooks.slack.com/services/… --severity warning --digest daily",
    change: "ID --severity critical --digest weekly",
  },
  section: "own",
  eachOwner: eachAccount,
  ownerOf: () => eachAccount,
  list: async ({ store }, _, page) => pageOf((await listChannels(store, gatewayOwner)).map(toShown), page),
  read: async ({ store }, _, id) => toShown(await findChannel({ store }, gatewayOwner, id)),
  async create(deps, by, _, { url, secret, routing_key, to, ...columns }) {
    const { kind = "webhook", ...more } = columns;
    const target = await readTarget({ kind, url, secret, routing_key, to }, deps.config);
    return await channelActions(deps).add(ownerOf(by), { kind, target, ...more });
  },
  change: (deps, by, { id }, changes) => channelActions(deps).change(ownerOf(by), id, changes),
  remove: (deps, by, { id }) => channelActions(deps).remove(ownerOf(by), id),
  derive: async () => (channel) => ({
    object: "organization.alert.channel",
    name: channel.name,
    label: channel.label,
    created_at: Math.floor(channel.createdAt / 1000),
    sent_at: toSeconds(channel.sentAt),
    error: channel.error ?? null,
    error_at: toSeconds(channel.errorAt),
  }),
});
