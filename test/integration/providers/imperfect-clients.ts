import { said } from "../../support/imperfect-answers.ts";
import { parseEvents } from "../../support/sse.ts";

/** What a client got. */
export interface Got {
  /** An error in place of an answer, or within it. */
  failed: boolean;
  /** It was told as cut by a limit. */
  isCut: boolean;
  text: string;
  reasoning: string;
  calls: { id?: unknown; name?: unknown; input?: unknown }[];
  error?: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of three protocols.
type Loose = any;

interface Client {
  path: string;
  body: object;
  /** The ids of calls that the client takes. */
  id: RegExp;
  read(response: Response, form: "whole" | "stream"): Promise<Got>;
}

const parameters = { type: "object", properties: { city: { type: "string" } } };
const names = said.calls.map(({ name }) => name);
const nothing = (): Got => ({ failed: false, isCut: false, text: "", reasoning: "", calls: [] });
const failure = (error: unknown): Got => ({ ...nothing(), failed: true, error });

async function readBody(response: Response): Promise<Loose> {
  const text = await response.text();
  return response.ok ? JSON.parse(text) : { error: text };
}

async function readEvents(response: Response): Promise<Loose[]> {
  const text = await response.text();
  return response.ok ? parseEvents<Loose>(text).events : [{ error: text }];
}

/** Calls as OpenAI's SDKs put them together: by index, the id and the name of the first piece. */
function addPiece(got: Got, { index, id, function: called }: Loose): void {
  got.calls[index] ??= { id, name: called?.name, input: "" };
  (got.calls[index] as { input: string }).input += called?.arguments ?? "";
}

async function readChat(response: Response, form: "whole" | "stream"): Promise<Got> {
  const got = nothing();
  const answers = form === "whole" ? [await readBody(response)] : await readEvents(response);
  let finish: unknown;
  for (const answer of answers) {
    if (answer.error) return failure(answer.error);
    for (const choice of answer.choices ?? []) {
      const message = choice.message ?? choice.delta;
      got.text += message.content ?? "";
      got.reasoning += message.reasoning_content ?? "";
      (message.tool_calls ?? []).forEach((call: Loose, index: number) => {
        addPiece(got, { index, ...call });
      });
      finish = choice.finish_reason ?? finish;
    }
  }
  if (finish === undefined || finish === null) return failure("no finish reason");
  got.isCut = finish === "length";
  return got;
}

/** A message as Anthropic's SDKs put it together of its events. */
async function readMessages(response: Response, form: "whole" | "stream"): Promise<Got> {
  let message: Loose;
  if (form === "whole") message = await readBody(response);
  else {
    let isEnded = false;
    for (const event of await readEvents(response)) {
      if (event.error) return failure(event.error);
      if (event.type === "message_start") message = event.message;
      else if (event.type === "content_block_start")
        message.content[event.index] = { ...event.content_block, json: "" };
      else if (event.type === "content_block_delta") {
        const block = message.content[event.index];
        const { delta } = event;
        if (delta.type === "text_delta") block.text += delta.text;
        else if (delta.type === "thinking_delta") block.thinking += delta.thinking;
        else if (delta.type === "input_json_delta") block.json += delta.partial_json;
      } else if (event.type === "message_delta") Object.assign(message, event.delta);
      else if (event.type === "message_stop") isEnded = true;
    }
    if (!isEnded) return failure("no message_stop");
  }
  if (message.error) return failure(message.error);
  const got = nothing();
  got.isCut = message.stop_reason === "max_tokens";
  for (const { type, text, thinking, id, name, input, json } of message.content) {
    if (type === "text") got.text += text;
    if (type === "thinking") got.reasoning += thinking;
    if (type === "tool_use") got.calls.push({ id, name, input: json || input });
  }
  return got;
}

/** A response by its last event, whose text has to be that of the pieces. */
async function readResponse(response: Response, form: "whole" | "stream"): Promise<Got> {
  let answer: Loose;
  let [text, input] = ["", ""];
  if (form === "whole") answer = await readBody(response);
  else {
    for (const event of await readEvents(response)) {
      if (event.error || event.type === "error" || event.type === "response.failed") return failure(event);
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.function_call_arguments.delta") input += event.delta;
      if (event.type === "response.completed" || event.type === "response.incomplete") answer = event.response;
    }
    if (answer === undefined) return failure("no response.completed");
  }
  if (answer.error || answer.status === "failed") return failure(answer.error);
  const got = nothing();
  got.isCut = answer.status === "incomplete";
  for (const item of answer.output) {
    if (item.type === "message") for (const part of item.content) got.text += part.text ?? "";
    if (item.type === "reasoning")
      for (const part of [...(item.summary ?? []), ...(item.content ?? [])]) got.reasoning += part.text ?? "";
    if (item.type === "function_call") got.calls.push({ id: item.call_id, name: item.name, input: item.arguments });
  }
  const whole = got.calls.map((call) => String(call.input)).join("");
  if (form === "stream" && (text !== got.text || input !== whole)) got.text += ` but in pieces ${text} ${input}`;
  return got;
}

/** Clients of all protocols, who ask for reasoning and bring two tools. */
export const clients = {
  chat: {
    path: "/chat/completions",
    id: /^.+$/,
    body: {
      messages: [{ role: "user", content: "Hi" }],
      max_completion_tokens: 5000,
      tools: names.map((name) => ({ type: "function", function: { name, parameters } })),
    },
    read: readChat,
  },
  messages: {
    path: "/messages",
    id: /^[a-zA-Z0-9_-]{1,64}$/,
    body: {
      messages: [{ role: "user", content: "Hi" }],
      max_tokens: 5000,
      thinking: { type: "enabled", budget_tokens: 1024 },
      tools: names.map((name) => ({ name, input_schema: parameters })),
    },
    read: readMessages,
  },
  responses: {
    path: "/responses",
    id: /^.{1,64}$/,
    body: {
      input: "Hi",
      max_output_tokens: 5000,
      reasoning: { effort: "low", summary: "auto" },
      tools: names.map((name) => ({ type: "function", name, parameters })),
    },
    read: readResponse,
  },
} satisfies Record<string, Client>;

export type ClientName = keyof typeof clients;
