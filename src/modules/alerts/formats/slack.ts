import { type AlertMessage, cut, toHeading, toLine } from "../message.ts";

const blocksMax = 50;
/** Less than Slack takes in a section (3000): a message of them stays within 40,000 characters. */
const sectionMax = 700;
const textMax = 3000;

/**
 * A message of an incoming webhook: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. Texts are
 * plain, where neither mentions nor formatting are read; `text` is what a notification shows.
 */
export function toSlackMessage({ text, alerts, digest }: AlertMessage): object {
  const blocks =
    digest === undefined
      ? alerts.map((alert) => toSection(`${toHeading(alert)}: ${alert.text}`, alert.link))
      : [
          toSection(digest.title, digest.link),
          ...digest.sections.map(({ title, lines }) =>
            toSection([title, ...lines.map((line) => `• ${line}`)].join("\n")),
          ),
        ];
  const shown = blocks.slice(0, blocksMax - 1);
  const rest = blocks.length - shown.length;
  if (rest > 0) shown.push(toSection(`and ${rest} more`));
  const [first] = alerts;
  const summary = alerts.length === 1 && first !== undefined ? toLine(first) : text;
  return { text: toEntities(cut(summary, textMax)), blocks: shown, unfurl_links: false, unfurl_media: false };
}

function toSection(text: string, link: string | null = null): object {
  return {
    type: "section",
    text: { type: "plain_text", text: cut(text, sectionMax), emoji: false },
    ...(link !== null && {
      accessory: { type: "button", text: { type: "plain_text", text: "Open" }, url: cut(link, textMax) },
    }),
  };
}

/** The signs of mentions, links and channels. */
function toEntities(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
