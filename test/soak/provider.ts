import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the provider does is the name of the model that it is asked for. */
export type Behaviour =
  | "say"
  | "say-slowly"
  | "count-nothing"
  | "fail"
  | "limit"
  | "refuse"
  | "babble"
  | "reset"
  | "cut"
  | "fail-late";

const words = [
  "Twelve ",
  "kites ",
  "fly ",
  "over ",
  "the ",
  "hill ",
  "in ",
  "a ",
  "steady ",
  "wind ",
  "from ",
  "the ",
  "west.",
];
/** The text of every whole answer. */
export const saidText = words.join("");

const usage = { prompt_tokens: 14, completion_tokens: 13, total_tokens: 27 };
const vector = [0.25, -0.5, 0.125];
/** Between two words of a slow answer. */
const slowMs = 60;
/** Between the last word and the end of a connection that is cut. */
const cutMs = 500;

interface Question {
  model: string;
  stream?: boolean;
}

export interface SoakProvider {
  baseUrl: string;
  stop(): Promise<void>;
}

/** A provider of OpenAI's shape on the loopback, well and ill as the model's name says. */
export async function startSoakProvider(): Promise<SoakProvider> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const piece of request) body += piece;
  const question = JSON.parse(body) as Question;
  if (request.url?.endsWith("/embeddings")) {
    const data = [{ object: "embedding", index: 0, embedding: vector }];
    return json(response, { object: "list", data, usage: { prompt_tokens: 3, total_tokens: 3 } });
  }
  const failed = failures[question.model];
  if (failed !== undefined) return failed(response);
  if (question.stream === true) return stream(response, question.model);
  if (question.model === "say-slowly") await Bun.sleep(slowMs * 5);
  const choices = [{ index: 0, message: { role: "assistant", content: saidText }, finish_reason: "stop" }];
  json(response, { choices, ...(question.model !== "count-nothing" && { usage }) });
}

const failures: Record<string, (response: ServerResponse) => void> = {
  fail: (response) => json(response, { error: { message: "Oops", type: "server_error" } }, 500),
  limit: (response) => json(response, { error: { message: "Slow down", code: "rate_limit_exceeded" } }, 429),
  refuse: (response) => json(response, { error: { message: "No such voice", type: "invalid_request_error" } }, 400),
  babble: (response) => void response.writeHead(200, { "content-type": "application/json" }).end("\u0000 not JSON"),
  reset: (response) => void response.socket?.resetAndDestroy(),
};

async function stream(response: ServerResponse, model: string): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event: unknown) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  const say = (delta: object, finish_reason: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason }] });
  say({ role: "assistant", content: "" });
  for (const [index, content] of words.entries()) {
    if (response.closed) return;
    if (index === 5 && model === "cut") {
      // `fetch` drops what was not read yet when a connection breaks: what was said is to have arrived.
      await Bun.sleep(cutMs);
      return void response.destroy();
    }
    if (index === 5 && model === "fail-late") {
      send({ error: { message: "Overloaded", type: "server_error" } });
      return void response.end();
    }
    say({ content });
    if (model === "say-slowly") await Bun.sleep(slowMs);
    else if (index % 4 === 0) await Bun.sleep(1);
  }
  say({}, "stop");
  if (model !== "count-nothing") send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
