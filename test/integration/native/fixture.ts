import { builtIns } from "../../../plugins/index.ts";
import type { AppOptions } from "../../../src/app.ts";
import { definePlugin, openai } from "../../../src/sdk/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { lastingPlugins } from "../../support/lasting.ts";

/** A request as a provider got it. */
export interface Seen {
  path: string;
  headers: Record<string, string>;
  text: string;
  body: Record<string, unknown>;
}

/** What a provider answers; it gets the request and how many came before it. */
type Answer = (seen: Seen, index: number) => Response | Promise<Response>;

export interface NativeBench {
  gateway: InProcessGateway;
  seen: Seen[];
  ask(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  stop(): Promise<void>;
}

export const claude = "famC-sonnet-4-6";
export const gpt = "famA-5.1";

/** A provider of chat alone that has the two models as another route, asked before or after the native one. */
const createBackup = (place: "first" | "last") =>
  definePlugin({
    name: "backup",
    baseUrl: "https://backup.example/v1",
    models: builtIns
      .flatMap(({ models }) => models)
      .filter(({ id }) => id === claude || id === gpt)
      .map((row) => ({ ...row, options: {}, upstreamId: "backup-model", priority: place === "first" ? 1 : 900 })),
    handlers: openai({ chat: {} }),
  });

interface NativeOptions {
  env?: Record<string, string>;
  backup?: "first" | "last";
  /** What stands in the home folder, by path. */
  files?: Record<string, object>;
  bounds?: AppOptions["bounds"];
}

/** Fields that no protocol has yet: public providers are sent them, and a server at a private address where they are listed. */
const requestFields = ["field_from_tomorrow"];

/** A gateway whose OpenAI and Anthropic are one loopback server; the paths tell them apart. */
export async function startNative(
  answer: Answer,
  { env = {}, backup, files = {}, bounds }: NativeOptions = {},
): Promise<NativeBench> {
  const seen: Seen[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const text = await request.text();
      const { pathname: path } = new URL(request.url);
      const headers = Object.fromEntries(request.headers);
      const known: Seen = { path, headers, text, body: JSON.parse(text) as Record<string, unknown> };
      seen.push(known);
      return answer(known, seen.length - 1);
    },
  });
  const address = `http://127.0.0.1:${server.port}`;
  const keys = {
    OPENAI_API_KEY: "sk-upstream-openai",
    OPENAI_BASE_URL: `${address}/openai`,
    ANTHROPIC_API_KEY: "sk-upstream-anthropic",
    ANTHROPIC_BASE_URL: `${address}/anthropic`,
    ...(backup && { BACKUP_API_KEY: "sk-upstream-backup", BACKUP_BASE_URL: `${address}/backup` }),
  };
  const listing = lastingPlugins.map((plugin) => definePlugin({ ...plugin, requestFields }));
  const plugins = backup === undefined ? listing : [...listing, createBackup(backup)];
  const gateway = await startInProcess({ env: { ...keys, ...env }, plugins, files, ...(bounds && { bounds }) });
  return {
    gateway,
    seen,
    ask: (path, body, headers = {}) =>
      fetch(gateway.baseUrl + path, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    async stop() {
      await gateway.stop();
      await server.stop(true);
    },
  };
}

/** Events as a provider writes them. */
export function eventsOf(events: readonly Record<string, unknown>[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

export function streamOf(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** A chat answer of the backup, whole or streamed. */
export function chatReply({ body }: Seen, text = "From the backup"): Response {
  const head = { id: "chatcmpl-9", created: 1, model: "backup-model" };
  const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
  if (body.stream !== true) {
    const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
    return Response.json({ ...head, object: "chat.completion", choices, usage });
  }
  const chunk = (delta: object, finish: string | null) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const chunks = [
    chunk({ role: "assistant", content: text }, null),
    chunk({}, "stop"),
    { ...head, choices: [], usage },
  ];
  return streamOf(`${chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("")}data: [DONE]\n\n`);
}
