import { Buffer } from "node:buffer";
import type { AlertMessage, AlertNotice } from "../message.ts";
import { cut, toHeading, toOneLine } from "../message.ts";

/** Teams refuses messages of more than 28 kB; the workflow adds some of its own. */
const bytesMax = 24_000;
const itemsMax = 20;
const textMax = 700;

const colors = { info: "Accent", warning: "Warning", critical: "Attention", resolved: "Good" } as const;

/**
 * A message of the workflow "Post to a channel when a webhook request is received": an adaptive card. Its texts are runs,
 * which are not read as Markdown and mention nobody.
 */
export function toTeamsMessage({ alerts, digest }: AlertMessage): object {
  const items =
    digest === undefined
      ? alerts.map(toContainer)
      : [
          container([run(digest.title, { weight: "Bolder" })], digest.link),
          ...digest.sections.map(({ title, lines }) =>
            container([run(title, { weight: "Bolder" }), ...lines.map((line) => run(`• ${line}`))], null),
          ),
        ];
  for (let count = Math.min(items.length, itemsMax); ; count--) {
    const rest = items.length - count;
    const body = [...items.slice(0, count), ...(rest > 0 ? [container([run(`and ${rest} more`)], null)] : [])];
    const message = toMessage(body);
    if (count <= 1 || Buffer.byteLength(JSON.stringify(message)) <= bytesMax) return message;
  }
}

function toMessage(body: readonly object[]): object {
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body,
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

function toContainer(alert: AlertNotice): object {
  const color = colors[alert.status === "resolved" ? "resolved" : alert.severity];
  return container([run(toHeading(alert), { weight: "Bolder", color }), run(alert.text)], alert.link);
}

function container(items: readonly object[], link: string | null): object {
  const actions = [{ type: "Action.OpenUrl", title: "Open", url: link }];
  return {
    type: "Container",
    separator: true,
    items: [...items, ...(link === null ? [] : [{ type: "ActionSet", actions }])],
  };
}

function run(text: string, look: object = {}): object {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text: cut(toOneLine(text), textMax), ...look }] };
}
