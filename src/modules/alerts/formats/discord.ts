import type { AlertMessage } from "../message.ts";
import { cut, toHeading, toOneLine } from "../message.ts";

const embedsMax = 10;
/** Ten embeds and their titles stay within the 6000 characters of a message. */
const descriptionMax = 500;
const titleMax = 80;
const fieldsMax = 8;
const fieldMax = 550;

const colors = { info: 0x2f6feb, warning: 0xd97706, critical: 0xdc2626, resolved: 0x16a34a } as const;

/** A message of a webhook, whose texts mention nobody: https://docs.discord.com/developers/resources/webhook. */
export function toDiscordMessage({ alerts, digest }: AlertMessage): object {
  const embeds = digest === undefined ? toEmbeds(alerts) : [toDigestEmbed(digest)];
  return { embeds, allowed_mentions: { parse: [] } };
}

function toEmbeds(alerts: AlertMessage["alerts"]): object[] {
  const shown = alerts.length > embedsMax ? alerts.slice(0, embedsMax - 1) : alerts;
  const embeds: object[] = shown.map((alert) => ({
    title: toHeading(alert),
    description: toPlain(alert.text, descriptionMax),
    color: colors[alert.status === "resolved" ? "resolved" : alert.severity],
    timestamp: alert.resolved_at ?? alert.started_at,
    ...(alert.link !== null && { url: alert.link }),
  }));
  if (shown.length < alerts.length) embeds.push({ description: `and ${alerts.length - shown.length} more` });
  return embeds;
}

function toDigestEmbed({ title, sections, link }: NonNullable<AlertMessage["digest"]>): object {
  return {
    title: cut(title, titleMax),
    color: colors.info,
    fields: sections.slice(0, fieldsMax).map(({ title, lines }) => ({
      name: cut(title, titleMax),
      value: joinLines(lines) || "–",
    })),
    ...(link !== null && { url: link }),
  };
}

/** As many lines as fit, each of them whole. */
function joinLines(lines: readonly string[]): string {
  let text = "";
  for (const line of lines) {
    const next = `${text === "" ? "" : `${text}\n`}${toPlain(line, fieldMax)}`;
    if (next.length > fieldMax) break;
    text = next;
  }
  return text;
}

/** Escapes the signs of Markdown, mentions, emojis and links, and cuts at no half of an escape. */
function toPlain(text: string, lengthMax: number): string {
  const pieces = [...toOneLine(text)].map((sign) => (/[\\*_~`|<>[\]()#:@-]/.test(sign) ? `\\${sign}` : sign));
  let plain = "";
  for (const piece of pieces) {
    if (plain.length + piece.length >= lengthMax) return `${plain}…`;
    plain += piece;
  }
  return plain;
}
