import {
  emptyAtoms,
  emptyChunks,
  emptyElements,
  emptyFrames,
  emptyTags,
  formOf,
  formOfFields,
  formType,
} from "./audio-inputs.ts";
import { randomText } from "./random-text.ts";
import { dawdle, exchange, type RawRequest, sendAll, type Target, toPieces } from "./send.ts";

/** One kind of hostile input. */
export interface HostileInput {
  name: string;
  /** The statuses that may answer it; 0: the connection closed without an answer. */
  statuses: readonly number[];
  /** Makes the bytes, which takes time that is not the gateway's, and returns what sends them. */
  prepare(target: Target): () => Promise<number[]>;
}

const mebibyte = 1024 * 1024;
const [chatPath, embeddingsPath, formPath] = ["/v1/chat/completions", "/v1/embeddings", "/v1/audio/transcriptions"];
const chat = { model: "famA-4o-mini", messages: [{ role: "user", content: "Hello" }] };
const asked = (content: unknown) => ({ ...chat, messages: [{ role: "user", content }] });
const list = <Item>(count: number, item: (index: number) => Item) => Array.from({ length: count }, (_, i) => item(i));
const tool = (index: number, parameters: unknown) => ({
  type: "function",
  function: { name: `f${index}`, parameters },
});
const image = (url: string) => ({ type: "image_url", image_url: { url } });

/** Sends one body several times at once. Refused as wrong, for lack of money, or because the gateway has no room for it. */
function post(name: string, times: number, make: () => RawRequest, statuses = [400, 403, 413, 429, 503]): HostileInput {
  return {
    name,
    statuses,
    prepare(target) {
      const pieces = toPieces(target, make());
      return () => sendAll(target, times, pieces);
    },
  };
}

const chatBody = (name: string, make: () => unknown, times = 4) =>
  post(name, times, () => ({ path: chatPath, body: JSON.stringify(make()) }));
const chatText = (name: string, make: () => string, times = 4) =>
  post(name, times, () => ({ path: chatPath, body: make() }));
const audio = (name: string, fileName: string, make: (bytes: number) => Buffer) =>
  post(name, 2, () => ({ path: formPath, contentType: formType, body: formOf(fileName, make(8 * mebibyte)) }));

const ofAudio = [
  audio("mp4 of 8 MB of empty atoms", "a.mp4", emptyAtoms),
  audio("WAV of 8 MB of empty chunks", "a.wav", emptyChunks),
  audio("mp3 of 8 MB of empty ID3 frames", "a.mp3", emptyFrames),
  audio("mp3 of 8 MB of empty ID3 tags", "a.mp3", emptyTags),
  audio("WebM of 8 MB of empty elements", "a.webm", emptyElements),
  audio("mp3 of 8 MB of zeros", "a.mp3", (bytes) => Buffer.alloc(bytes)),
];

const ofForms = [
  post("form of 200 000 empty fields", 2, () => ({
    path: formPath,
    contentType: formType,
    body: formOfFields(200_000),
  })),
  post("form of 1 MB in chunks of one byte", 2, () => ({
    path: formPath,
    contentType: formType,
    body: formOf("a.mp3", Buffer.alloc(mebibyte)),
    chunkBytes: 1,
  })),
];

const ofJson = [
  chatText("JSON of 32 million opening brackets", () => "[".repeat(32_000_000), 2),
  chatText("JSON nested 1 million deep", () => `${"[".repeat(1e6)}${"]".repeat(1e6)}`),
  chatText("JSON array of 15 million zeros", () => `{"model":"m","messages":[],"a":[${"0,".repeat(15e6)}0]}`, 2),
  chatText("JSON array of 8 million empty objects", () => `{"model":"m","messages":[],"a":[${"{},".repeat(8e6)}0]}`, 2),
  chatText("JSON object of 1 million keys", () => `{${list(1e6, (index) => `"k${index}":0`)}}`, 2),
  chatText("JSON of 1 million shapes", () => `{"a":[${list(1e6, (index) => `{"k${index}":0}`)}]}`, 2),
  chatText("JSON of 16 million escaped quotes", () => `{"a":"${'\\"'.repeat(15e6)}"}`, 2),
  chatText("JSON of 80 000 short strings, 8 at a time", () => `{"a":[${list(80_000, (i) => `"${i}xxxx"`)}]}`, 8),
  chatText("JSON of 60 000 shapes, 8 at a time", () => `{"a":[${list(60_000, (i) => `{"k${i}":0}`)}]}`, 8),
  chatText("JSON of a number of 30 million digits", () => `{"a":${"1".repeat(30e6)}}`, 2),
  chatText("JSON of 32 MB of spaces", () => `${" ".repeat(32_000_000)}0`, 2),
  post("JSON of 1 MB in chunks of one byte", 4, () => ({ path: chatPath, body: "[".repeat(mebibyte), chunkBytes: 1 })),
  chatBody("JSON of 30 MB, 8 at a time", () => asked("x".repeat(30_000_000)), 8),
  post("JSON of 30 MB in chunks, 8 at a time", 8, () => ({
    path: chatPath,
    body: JSON.stringify(asked("x".repeat(30_000_000))),
    chunkBytes: 65_536,
  })),
];

const ofChat = [
  chatBody("2 MB of one letter", () => asked("a".repeat(2e6))),
  chatBody("2 MB of spaces", () => asked(" ".repeat(2e6))),
  chatBody("2 MB of rare CJK", () => asked("\u9f98\u9f49\u{2a6a5}".repeat(250_000))),
  chatBody("2 MB of random letters", () => asked(randomText(2e6))),
  chatBody("100 000 parts of text", () => asked(list(100_000, () => ({ type: "text", text: "a" })))),
  chatBody("90 000 parts of an unknown kind", () => asked(list(90_000, () => ({ type: "x" })))),
  chatBody("100 000 messages", () => ({ ...chat, messages: list(100_000, () => chat.messages[0]) })),
  chatBody("10 000 tool calls", () => ({
    ...chat,
    messages: [
      {
        role: "assistant",
        tool_calls: list(10_000, (i) => ({ id: `${i}`, type: "function", function: { name: "f", arguments: "{" } })),
      },
    ],
  })),
  chatBody("5 000 tools", () => ({ ...chat, tools: list(5000, (index) => tool(index, { type: "object" })) })),
  chatBody("128 tools with 700 properties each", () => ({
    ...chat,
    tools: list(128, (index) =>
      tool(index, {
        type: "object",
        properties: Object.fromEntries(list(700, (property) => [`p${property}`, { type: "string" }])),
      }),
    ),
  })),
  chatText("a schema nested 190 deep, 4 000 times", () => {
    const deep = `${'{"items":'.repeat(180)}{}${"}".repeat(180)}`;
    const tools = list(128, (index) => `{"type":"function","function":{"name":"f${index}","parameters":${deep}}}`);
    return `{"model":"famB-2.5-flash","messages":[{"role":"user","content":"a"}],"tools":[${tools}]}`;
  }),
  chatText("a schema whose references double 40 times", () => {
    const defs = list(40, (i) => `"d${i}":{"anyOf":[{"$ref":"#/$defs/d${i + 1}"},{"$ref":"#/$defs/d${i + 1}"}]}`);
    const schema = `{"$ref":"#/$defs/d0","$defs":{${defs},"d40":{"type":"string"}}}`;
    const format = `{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":${schema}}}`;
    return `{"model":"famB-2.5-flash","messages":[{"role":"user","content":"a"}],"response_format":${format}}`;
  }),
  chatBody("16 images of 1.5 MB each", () => ({
    ...asked(list(16, () => image(`data:image/png;base64,${"A".repeat(1_500_000)}`))),
    model: "famB-2.5-flash",
  })),
  chatBody("an image whose data URL is no base64", () => ({
    ...asked([image(`data:image/png;base64,${"%".repeat(8_000_000)}`)]),
    model: "famB-2.5-flash",
  })),
  chatBody("1 000 addresses of images", () => ({
    ...asked(list(1000, (index) => image(`https://192.0.2.1/${index}.png`))),
    model: "famB-2.5-flash",
  })),
  chatBody("a model's name of 8 MB", () => ({ ...chat, model: "m".repeat(8_000_000) })),
  chatBody("90 000 biases of a wrong type", () => ({
    ...chat,
    logit_bias: Object.fromEntries(list(90_000, (index) => [`${index}`, "x"])),
    stop: list(90_000, () => "x"),
  })),
];

const embeddingsBody = (name: string, input: () => unknown) =>
  post(name, 4, () => ({
    path: embeddingsPath,
    body: JSON.stringify({ model: "text-embedding-3-small", input: input() }),
  }));

const ofOthers = [
  embeddingsBody("embeddings of 150 texts of 15 300 random letters", () => list(150, () => randomText(15_300))),
  embeddingsBody("embeddings of 2 048 texts of one letter", () => list(2048, () => "a".repeat(1000))),
  embeddingsBody("embeddings of 300 000 texts", () => list(300_000, () => "a")),
  embeddingsBody("embeddings of 200 000 lists", () => list(150_000, () => [1])),
  embeddingsBody("embeddings of 8 MB of rare CJK", () => "\u9f98".repeat(2_600_000)),
  post("moderation of 2 048 texts of rare CJK", 4, () => ({
    path: "/v1/moderations",
    body: JSON.stringify({ model: "omni-moderation-latest", input: list(2048, () => "\u9f98".repeat(3000)) }),
  })),
  post("images of a prompt of 8 MB", 4, () => ({
    path: "/v1/images/generations",
    body: JSON.stringify({ model: "famB-3-pro-image-preview", prompt: randomText(8_000_000) }),
  })),
  post("speech of a text of 8 MB", 4, () => ({
    path: "/v1/audio/speech",
    body: JSON.stringify({ model: "famP-tts", input: randomText(8_000_000), voice: "v".repeat(1_000_000) }),
  })),
  post(
    "sign-in with a body of 30 MB",
    4,
    () => ({
      path: "/api/auth/sign-in/email",
      body: `{"email":"${"a".repeat(30_000_000)}"}`,
    }),
    [400, 401, 403, 413],
  ),
];

/** Opens the connections that a start of a request keeps waiting, for a second. */
const slow = (name: string, count: number, start: (target: Target) => string): HostileInput => ({
  name,
  statuses: [],
  prepare: (target) => () => dawdle(target, { count, start: start(target), ms: 1000 }),
});

/** Sends heads alone, at this rate, for a second and a half. */
function flood(name: string, perSecond: number, head: (index: number) => string, status: number): HostileInput {
  return {
    name,
    statuses: [status],
    prepare:
      ({ origin }) =>
      async () => {
        const answers: Promise<number>[] = [];
        for (let tick = 0; tick < 75; tick++) {
          for (let each = 0; each < perSecond / 50; each++) answers.push(exchange(origin, [head(answers.length)]));
          await Bun.sleep(20);
        }
        return Promise.all(answers);
      },
  };
}

const withKey = (key: string) => `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`;
const tail = "0123456789abcdef0123456789abcdef";

const ofConnections = [
  slow("1 000 idle connections", 1000, () => ""),
  slow("500 heads, a byte at a time", 500, () => "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: "),
  slow(
    "500 bodies, a byte at a time",
    500,
    ({ key }) =>
      `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-length: 30000000\r\n\r\n{`,
  ),
  flood("1 500 unknown keys a second", 1500, (i) => withKey(`sk-mg-${String(i).padStart(8, "0")}-${tail}`), 401),
  flood("1 500 wrong secrets a second", 1500, () => withKey(`sk-mg-e2etest1-${tail.replace("f", "e")}`), 401),
  flood(
    "heads of 15 kB, 500 a second",
    500,
    () => `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(15_000)}\r\n\r\n`,
    200,
  ),
  {
    name: "10 000 pipelined requests on one connection",
    statuses: [200, 0],
    prepare:
      ({ origin }) =>
      async () => [await exchange(origin, ["GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(10_000)])],
  },
] satisfies HostileInput[];

export const hostileInputs: readonly HostileInput[] = [
  ...ofAudio,
  ...ofForms,
  ...ofJson,
  ...ofChat,
  ...ofOthers,
  ...ofConnections,
];
