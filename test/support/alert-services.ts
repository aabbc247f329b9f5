/** Servers that take messages as PagerDuty, Slack, Teams and Discord do, and check them by the published forms and limits. */

type Json = Readonly<Record<string, unknown>>;
type Check = (body: Json, problem: (text: string) => void) => void;

const isText = (value: unknown, lengthMax: number): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= lengthMax;
const isLink = (value: unknown) => typeof value === "string" && /^https?:\/\//.test(value);
const list = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);

/** Says which fields are there that the form does not have. */
function expectFields(of: Json, names: readonly string[], problem: (text: string) => void): void {
  for (const name of Object.keys(of)) if (!names.includes(name)) problem(`unknown field ${name}`);
}

/** https://developer.pagerduty.com/docs/send-alert-event */
const checkPagerduty: Check = (body, problem) => {
  const names = ["routing_key", "event_action", "dedup_key", "payload", "client", "client_url", "links", "images"];
  expectFields(body, names, problem);
  if (!/^[A-Za-z0-9]{32}$/.test(String(body.routing_key))) problem("routing_key");
  if (!["trigger", "acknowledge", "resolve"].includes(String(body.event_action))) problem("event_action");
  if (!isText(body.dedup_key, 255)) problem("dedup_key");
  const payload = body.payload as Json;
  const fields = ["summary", "source", "severity", "timestamp", "component", "group", "class", "custom_details"];
  expectFields(payload, fields, problem);
  if (!isText(payload.summary, 1024)) problem("summary");
  if (!isText(payload.source, 1024)) problem("source");
  if (!["critical", "error", "warning", "info"].includes(String(payload.severity))) problem("severity");
  if (Number.isNaN(Date.parse(String(payload.timestamp)))) problem("timestamp");
  for (const { href } of list(body.links)) if (!isLink(href)) problem("link");
  if (JSON.stringify(body).length > 512_000) problem("size");
};

/** https://docs.slack.dev/reference/block-kit/blocks */
const checkSlack: Check = (body, problem) => {
  expectFields(body, ["text", "blocks", "unfurl_links", "unfurl_media"], problem);
  if (!isText(body.text, 40_000)) problem("text");
  // Mentions and links are written with these signs.
  if (/<[@!#]|<http/.test(String(body.text))) problem("a mention or link in text");
  const blocks = list(body.blocks);
  if (blocks.length === 0 || blocks.length > 50) problem("blocks");
  for (const block of blocks) {
    const { type, text, accessory, ...rest } = block as { type: string; text: Json; accessory?: Json };
    expectFields(rest, [], problem);
    if (type !== "section" || text.type !== "plain_text" || !isText(text.text, 3000)) problem("section");
    if (accessory !== undefined && !isLink(accessory.url)) problem("button");
  }
  if (JSON.stringify(body).length > 40_000) problem("size");
};

/** https://adaptivecards.io/explorer, in a message of a Teams workflow. */
const checkTeams: Check = (body, problem) => {
  expectFields(body, ["type", "attachments"], problem);
  const [attachment, ...more] = list(body.attachments);
  if (body.type !== "message" || attachment === undefined || more.length > 0) return problem("attachments");
  if (attachment.contentType !== "application/vnd.microsoft.card.adaptive") problem("contentType");
  const card = attachment.content as Json;
  if (card.type !== "AdaptiveCard" || !/^1\.[0-5]$/.test(String(card.version))) problem("card");
  for (const container of list(card.body)) {
    if (container.type !== "Container") problem("container");
    for (const item of list(container.items)) {
      if (item.type === "ActionSet") {
        for (const action of list(item.actions))
          if (action.type !== "Action.OpenUrl" || !isLink(action.url)) problem("action");
      } else if (item.type === "RichTextBlock") {
        for (const run of list(item.inlines)) if (run.type !== "TextRun" || !isText(run.text, 4000)) problem("run");
      } else problem(`item ${String(item.type)}, whose text may be read as Markdown`);
    }
  }
  if (Buffer.byteLength(JSON.stringify(body)) > 28 * 1024) problem("size");
};

/** https://docs.discord.com/developers/resources/message#embed-object-embed-limits */
const checkDiscord: Check = (body, problem) => {
  expectFields(body, ["embeds", "allowed_mentions", "content", "username"], problem);
  if (JSON.stringify(body.allowed_mentions) !== '{"parse":[]}') problem("allowed_mentions");
  const embeds = list(body.embeds);
  if (embeds.length === 0 || embeds.length > 10) problem("embeds");
  let total = 0;
  const count = (value: unknown, lengthMax: number, name: string) => {
    if (value === undefined) return;
    if (!isText(value, lengthMax)) problem(name);
    total += String(value).length;
  };
  for (const embed of embeds) {
    expectFields(embed, ["title", "description", "url", "color", "timestamp", "fields"], problem);
    count(embed.title, 256, "title");
    count(embed.description, 4096, "description");
    if (embed.url !== undefined && !isLink(embed.url)) problem("url");
    const fields = list(embed.fields);
    if (fields.length > 25) problem("fields");
    for (const { name, value } of fields) {
      count(name, 256, "name of a field");
      count(value, 1024, "value of a field");
    }
  }
  if (total > 6000) problem("total length");
};

const checks = { pagerduty: checkPagerduty, slack: checkSlack, teams: checkTeams, discord: checkDiscord } as const;
const accepted = { pagerduty: 202, slack: 200, teams: 202, discord: 204 } as const;

/** A service on the loopback. A message that is not in its form gets 400, and is among `problems`. */
export function startService(kind: keyof typeof checks) {
  const bodies: Json[] = [];
  const problems: string[] = [];
  let refusal: { status: number; headers: Record<string, string> } | undefined;
  let tries = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      tries += 1;
      if (refusal !== undefined) return new Response(null, refusal);
      const body = (await request.json()) as Json;
      const before = problems.length;
      checks[kind](body, (text) => void problems.push(text));
      if (problems.length > before) return new Response(null, { status: 400 });
      bodies.push(body);
      return new Response(null, { status: accepted[kind] });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/hook/secret-token`,
    bodies,
    problems,
    get tries() {
      return tries;
    },
    /** Refuses from now on; without a status it accepts. */
    refuse(status?: number, headers: Record<string, string> = {}) {
      refusal = status === undefined ? undefined : { status, headers };
    },
    stop: () => server.stop(true),
  };
}
