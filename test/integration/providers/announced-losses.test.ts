import { afterAll, beforeAll, expect, test } from "bun:test";
import { dialects, envOf } from "../../support/dialect-answers.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { testMsMax } from "../../support/long.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { type ClientProtocol, clientProtocols } from "./documented-fields.ts";

/** A model of each dialect that takes images and files, and the stand-ins that have another name than the dialect. */
const models: Readonly<Record<string, string>> = {
  openai: "lab/m",
  "openai-responses": "gpt-5.3-codex",
  anthropic: "claude-haiku-4-5",
  gemini: "gemini-2.5-flash",
  bedrock: "bedrock/amazon.nova-lite-v1:0",
};
const providers: Readonly<Record<string, string>> = { openai: "lab", "openai-responses": "openai" };

let gateway: InProcessGateway;
let upstream: ReplayUpstream;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  gateway = await startInProcess({
    env: {
      ...envOf(upstream.baseUrlOf),
      LAB_API_KEY: "k",
      LAB_BASE_URL: upstream.baseUrlOf("lab", "/v1"),
      REQUESTS_PER_MINUTE: "1000000",
      TOKENS_PER_MINUTE: "100000000000",
      FREE_TOKENS_PER_DAY: "1000000000000",
    },
    files: {
      "plugins/lab.json": {
        baseUrl: "https://api.lab.example/v1",
        dialect: "openai",
        models: [{ id: "lab/m", premium: false, contextTokens: 100_000, outputTokensMax: 20_000 }],
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

/** A copy of a request with a value at a path, whose places in lists are written `[1]` or, in Messages, `.1`. */
function withValue(body: object, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(body) as Record<string, unknown>;
  const names = path.split(/[.[\]]+/).filter((name) => name !== "");
  const last = names.pop() as string;
  let holder = copy;
  for (const name of names) {
    if (holder[name] === undefined) holder[name] = {};
    holder = holder[name] as Record<string, unknown>;
  }
  holder[last] = value;
  return copy;
}

/** What became of a request: what its provider was sent, or nothing, and the fields that its client was told of. */
async function ask(dialect: string, { endpoint }: ClientProtocol, body: Record<string, unknown>) {
  const { whole, stream } = dialects[dialect] as (typeof dialects)[string];
  const model = models[dialect];
  const word = { anthropic: "end_turn", gemini: "STOP", bedrock: "end_turn", "openai-responses": "completed" }[dialect];
  const written = { text: "Hello", word: word ?? "stop" };
  const provider = providers[dialect] ?? dialect;
  upstream.answer(provider, body.stream === true ? stream(written) : whole(written));
  const before = upstream.seen.length;
  const response = await gateway.post(endpoint, { model, ...body });
  await response.text();
  const sent = upstream.seen.slice(before).map(({ path, json }) => ({ path, json }));
  const named = response.headers.get("x-modelgate-ignored")?.split(", ") ?? [];
  return { status: response.status, sent: JSON.stringify(sent), named };
}

const withoutPlaces = (name: string) => name.replaceAll(/\[\d+\]|\.\d+/g, "");

/** Whether a name is that of the field, of what it stands in, or of something in it. A name may leave places in lists out. */
function isAbout(name: string, full: string): boolean {
  const path = withoutPlaces(name) === name ? withoutPlaces(full) : full;
  const [shorter, longer] = name.length < path.length ? [name, path] : [path, name];
  return longer === shorter || (longer.startsWith(shorter) && /[.[]/.test(longer[shorter.length] as string));
}

/** Whether the gateway keeps to a field itself. */
function isKept({ kept }: ClientProtocol, path: string, value: unknown): boolean {
  const words = JSON.stringify(value);
  return Object.keys(kept).some((name) => {
    const [field = "", word = ""] = name.split(" ");
    return field === path && words.includes(word);
  });
}

/** Members whose own members are the client's, or those of a medium. */
const freeForms = new Set(["parameters", "input_schema", "arguments", "source", "image_url"]);

/** The path of each object in a request, as its protocol writes paths. */
function listObjects(value: unknown, path: string, hasDots: boolean): string[] {
  if (Array.isArray(value))
    return value.flatMap((one, place) => listObjects(one, hasDots ? `${path}.${place}` : `${path}[${place}]`, hasDots));
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, member]) => {
    const isFree = freeForms.has(name) || (name === "input" && !Array.isArray(member));
    return isFree ? [] : listObjects(member, path === "" ? name : `${path}.${name}`, hasDots);
  });
  return [path, ...inner];
}

const pairs = clientProtocols.flatMap((client) =>
  Object.keys(dialects).map((dialect): [string, string, ClientProtocol] => [client.endpoint, dialect, client]),
);

test.each(pairs.filter(([endpoint]) => endpoint === "/messages" || endpoint === "/responses"))(
  "no member of POST %s that nobody documents yet vanishes on the way to %s, wherever it is",
  async (endpoint, dialect, client) => {
    const plain = await ask(dialect, client, client.body);
    const lost: unknown[] = [];
    for (const place of listObjects(client.body, "", endpoint === "/messages")) {
      const path = place === "" ? "tomorrow" : `${place}.tomorrow`;
      const { status, sent, named } = await ask(dialect, client, withValue(client.body, path, "x"));
      const isNamed = named.some((name) => isAbout(name, path));
      if (status !== 200 || (sent === plain.sent && !isNamed)) lost.push([path, status, named]);
    }
    expect(lost).toEqual([]);
  },
  testMsMax,
);

test.each(pairs)(
  "no documented field of POST %s vanishes on the way to %s: it is sent, refused or named",
  async (_, dialect, client) => {
    const plain = await ask(dialect, client, client.body);
    expect(plain).toMatchObject({ status: 200, named: [] });
    const lost: unknown[] = [];
    for (const [path, value] of client.fields) {
      if (isKept(client, path, value)) continue;
      const { status, sent, named } = await ask(dialect, client, withValue(client.body, path, value));
      const isRefused = status >= 400 && status < 500;
      const isNamed = named.some((name) => isAbout(name, path));
      if (!isRefused && (status !== 200 || (sent === plain.sent && !isNamed))) lost.push([path, value, status, named]);
    }
    expect(lost).toEqual([]);
  },
  testMsMax,
);
