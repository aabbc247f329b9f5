import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { capabilities, decodeText } from "../../contract/index.ts";
import { shapeChecker } from "../../lib/check-shape.ts";
import { readJson } from "../../lib/json.ts";
import { PluginError } from "../../sdk/errors.ts";

/** A message of a WebSocket, of one of these kinds. */
const Message = Type.Union([
  Type.Object({ json: Type.Unknown({ description: "A text that is JSON" }) }, { additionalProperties: false }),
  Type.Object({ text: Type.String() }, { additionalProperties: false }),
  Type.Object({ base64: Type.String({ description: "Bytes" }) }, { additionalProperties: false }),
]);

/** One answer of a provider. */
const Reply = Type.Object(
  {
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599, description: "200 when left out" })),
    mediaType: Type.Optional(Type.String({ description: "By the body's kind when left out" })),
    json: Type.Optional(Type.Unknown({ description: "The body as JSON" })),
    text: Type.Optional(Type.String({ description: "The body as text, such as server-sent events" })),
    awsEvents: Type.Optional(
      Type.Array(Type.Tuple([Type.String(), Type.Unknown()]), {
        description: "The body as an AWS event stream: the type and the payload of each event",
      }),
    ),
    base64: Type.Optional(Type.String({ description: "The body as bytes" })),
    webSocket: Type.Optional(
      Type.Array(Message, { description: "The messages of a WebSocket, which is then closed normally" }),
    ),
  },
  { additionalProperties: false },
);
export type Reply = Static<typeof Reply>;

/** One request to the gateway, what the provider answers to it, and what the caller is to get. */
const Fixture = Type.Object(
  {
    about: Type.String({ minLength: 1, description: "Purpose of the fixture, in a few words" }),
    capability: Type.Optional(Type.Union(capabilities.map((name) => Type.Literal(name)))),
    model: Type.Optional(Type.String({ description: "Default: the plugin's first model of the capability" })),
    request: Type.Record(Type.String(), Type.Unknown(), { description: "The uniform request, without model" }),
    path: Type.Optional(Type.String({ description: "Expected path of the request, below the base URL" })),
    body: Type.Optional(
      Type.Unknown({ description: "Expected body of the request; for a WebSocket, a list of the messages sent" }),
    ),
    reply: Reply,
    expect: Type.Optional(
      Type.Object(
        {
          content: Type.Optional(Type.String()),
          toolCalls: Type.Optional(Type.Array(Type.Object({ name: Type.String(), arguments: Type.Unknown() }))),
          finishReason: Type.Optional(Type.String()),
          promptTokens: Type.Optional(Type.Integer()),
          completionTokens: Type.Optional(Type.Integer()),
          error: Type.Optional(Type.String({ description: "A code of the gateway's table of errors" })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type Fixture = Static<typeof Fixture>;

const findFixtureError = shapeChecker(Fixture);

/**
 * Reads the fixtures of a plugin: `fixtures/*.json` in the folder of its index file.
 *
 * @throws {PluginError} With the file, the place and what was expected there.
 */
export function readFixtures(entry: string): Fixture[] {
  const folder = join(dirname(entry), "fixtures");
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.sort().map((name) => readFixture(join(folder, name), `fixtures/${name}`));
}

function readFixture(path: string, label: string): Fixture {
  let value: unknown;
  try {
    value = readJson(decodeText(readFileSync(path)), "file");
  } catch (cause) {
    throw new PluginError(`Cannot read ${label}: it is not JSON; fix it or record it again`, { cause });
  }
  const error = findFixtureError(value);
  if (error !== undefined) throw new PluginError(`Cannot read ${label}${error.path}: ${error.reason}`);
  return value as Fixture;
}
