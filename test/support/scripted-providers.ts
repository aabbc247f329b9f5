import { type PromptCache, readMessagesPrompt } from "./prompt-cache.ts";
import * as anthropic from "./providers/anthropic.ts";
import * as gemini from "./providers/gemini.ts";
import * as openai from "./providers/openai.ts";
import { nextStep, type ToolPlan } from "./providers/script.ts";

/** A request as a provider got it. */
export interface ScriptedRequest {
  provider: "openai" | "anthropic" | "gemini" | "local";
  path: string;
  headers: Record<string, string>;
  /** The body's bytes as text, for what must be kept byte for byte. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each wire has a shape of its own, and the test that looks knows it
  body: any;
}

/** OpenAI, Anthropic and Gemini on loopback, each in its own wire, with a scripted model behind all of them. */
export interface ScriptedProviders {
  /** Settings of a gateway that has the three as its providers. */
  env: Record<string, string>;
  /** The tool that the model calls on a question; absent: it answers in text. */
  plan: ToolPlan | undefined;
  /** The cache by which Anthropic reports what it read of a prompt; absent: figures that are always the same. */
  promptCache: PromptCache | undefined;
  /** What is answered instead of the script while it is set, where it answers at all. */
  fault: ((request: ScriptedRequest) => Response | Promise<Response> | undefined) | undefined;
  /** All requests for answers so far. */
  readonly seen: ScriptedRequest[];
  stop(): Promise<void>;
}

const events = { headers: { "content-type": "text/event-stream" } };

export function startScriptedProviders(): ScriptedProviders {
  const seen: ScriptedRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const url = new URL(request.url);
      const [, provider = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
      // The list of a server of one's own.
      if (request.method === "GET") return Response.json({ object: "list", data: [{ id: "qwen", object: "model" }] });
      const text = await request.text();
      const headers = Object.fromEntries(request.headers);
      const record = { provider, path: path + url.search, headers, text, body: JSON.parse(text) } as ScriptedRequest;
      seen.push(record);
      return providers.fault?.(record) ?? answer(record, providers, seen.length);
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const providers: ScriptedProviders = {
    env: {
      OPENAI_API_KEY: "sk-openai",
      OPENAI_BASE_URL: `${origin}/openai/v1`,
      ANTHROPIC_API_KEY: "sk-anthropic",
      ANTHROPIC_BASE_URL: `${origin}/anthropic/v1`,
      GEMINI_API_KEY: "sk-gemini",
      GEMINI_BASE_URL: `${origin}/gemini/v1beta`,
    },
    plan: undefined,
    promptCache: undefined,
    fault: undefined,
    seen,
    stop: () => server.stop(true),
  };
  return providers;
}

/** The script's own answer in text, for a fault that begins as one. */
export const answerInText = (request: ScriptedRequest): Response => answer(request, {}, 1);

function answer(
  { path, body }: ScriptedRequest,
  { plan, promptCache }: Partial<ScriptedProviders>,
  count: number,
): Response {
  if (path.startsWith("/v1/responses")) {
    const response = openai.toResponse(nextStep(plan, openai.readResponses(body), count), body);
    return body.stream ? new Response(openai.toResponseEvents(response), events) : Response.json(response);
  }
  if (path.startsWith("/v1/chat/completions")) {
    const completion = openai.toCompletion(nextStep(plan, openai.readChat(body), count), body);
    return body.stream ? new Response(openai.toChunks(completion), events) : Response.json(completion);
  }
  if (path.startsWith("/v1/messages/count_tokens")) return Response.json({ input_tokens: 42 });
  if (path.startsWith("/v1/messages")) {
    const usage = promptCache?.take(readMessagesPrompt(body));
    const message = anthropic.toMessage(nextStep(plan, anthropic.readMessages(body), count), body, usage);
    return body.stream ? new Response(anthropic.toMessageEvents(message), events) : Response.json(message);
  }
  const generated = gemini.toGenerated(nextStep(plan, gemini.readGenerate(body), count));
  if (path.includes(":streamGenerateContent")) return new Response(gemini.toGenerateEvents(generated), events);
  if (path.includes(":generateContent")) return Response.json(generated);
  return Response.json({ error: { message: `The script has no ${path}` } }, { status: 404 });
}
