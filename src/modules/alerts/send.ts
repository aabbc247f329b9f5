import type { Config } from "../../config/index.ts";
import { DeliveryError } from "../../mail/index.ts";
import { toDiscordMessage } from "./formats/discord.ts";
import { pagerdutyUrl, toPagerdutyEvents } from "./formats/pagerduty.ts";
import { toSlackMessage } from "./formats/slack.ts";
import { toTeamsMessage } from "./formats/teams.ts";
import type { AlertMessage } from "./message.ts";
import { gatewayOwner } from "./rule-settings.ts";
import { settings } from "./settings.ts";
import type { OpenChannel } from "./storeless.ts";
import { createPosts, createWebhooks, type SendPost } from "./webhook.ts";

interface SenderDeps {
  readonly config: Pick<Config, "proxyEnv" | "publicUrl" | "of">;
  readonly now: () => number;
}

/** Sends a message over HTTP in the form of a channel's service, once. @throws {DeliveryError} */
export type SendToService = (channel: OpenChannel, message: AlertMessage) => Promise<void>;

/** Creates the sender to webhooks and services. */
export function createServices({ config, now }: SenderDeps): SendToService {
  const { proxyEnv, publicUrl } = config;
  const { alertNetworks: networks = [] } = config.of(settings);
  const source = publicUrl === undefined ? "modelgate" : new URL(publicUrl).host;
  const own = { post: createPosts({ networks, proxyEnv }), webhook: createWebhooks({ networks, proxyEnv, now }) };
  // The operator listed the networks for the gateway's own alerts: an account holder is no way into them.
  const others = { post: createPosts({ proxyEnv }), webhook: createWebhooks({ proxyEnv, now }) };
  return async ({ channel, target }, message) => {
    const { post, webhook } = channel.owner === gatewayOwner ? own : others;
    const { url = "", secret, routingKey = "" } = target;
    switch (channel.kind) {
      case "webhook":
        return await webhook({ url, secret }, message);
      case "slack":
        return await post({ url, content: toSlackMessage(message), service: "Slack" });
      case "teams":
        return await post({ url, content: toTeamsMessage(message), service: "Teams" });
      case "discord":
        return await post({ url, content: toDiscordMessage(message), service: "Discord" });
      case "pagerduty":
        return await sendPages(post, { url: target.url ?? pagerdutyUrl, message, routingKey, source });
      default:
        throw new DeliveryError("A channel of this kind has no address");
    }
  };
}

/** Events are sent in their order: a repeated one is the same to PagerDuty by its key. */
async function sendPages(
  post: SendPost,
  { url, message, routingKey, source }: { url: string; message: AlertMessage; routingKey: string; source: string },
): Promise<void> {
  for (const content of toPagerdutyEvents(message, routingKey, source)) {
    await post({ url, content, service: "PagerDuty" });
  }
}
