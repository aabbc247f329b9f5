import { Elysia } from "elysia";
import { type ChatChunk, type ChatCompletion, type ChatRequest, makeCallId } from "../../contract/index.ts";
import * as completionsProtocol from "../../protocols/completions/inbound.ts";
import { CompletionsRequest, TextCompletion } from "../../protocols/completions/schema.ts";
import type { HttpDeps } from "../deps.ts";
import { apiKeyRoutes, executeCall, HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply, toEvent } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { NamedEvent, responses } from "./openapi.ts";

const { toChatRequests, toTextChunk, toTextCompletion } = completionsProtocol;

const Body = requestBody(CompletionsRequest);

/** POST /completions, OpenAI's legacy endpoint, through the chat of any model. */
export function completionsController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/completions",
    replyOnce<CompletionsRequest>(deps, async ({ call, body }) => {
      const requests = toChatRequests(body);
      call.protocol = "completions";
      if (body.stream === true) return await stream(deps, call, requests[0] as ChatRequest);
      return jsonReply(deps, call, toTextCompletion(await answerAll(deps, call, requests)));
    }),
    {
      parse: [readJsonCall(deps), "json"],
      body: Body,
      detail: {
        summary: "Text generation from a prompt (legacy)",
        description: "Each prompt is one message of the user to a chat model, and one call in the ledger.",
        tags: ["Calls"],
        responses: responses({ "application/json": TextCompletion, "text/event-stream": NamedEvent }),
      },
    },
  );
}

/** Asks one prompt after the other, each as a call of its own. The first that fails ends the request. */
async function answerAll(deps: HttpDeps, call: HttpCall, requests: readonly ChatRequest[]): Promise<ChatCompletion[]> {
  const answers: ChatCompletion[] = [];
  let costNanodollars: number | undefined = 0;
  try {
    for (const request of requests) {
      const own = answers.length === 0 ? call : createNextCall(deps, call);
      answers.push((await executeCall(deps, own, { capability: "chat", request })) as ChatCompletion);
      const cost = own.costNanodollars;
      costNanodollars = cost === undefined || costNanodollars === undefined ? undefined : costNanodollars + cost;
      // The client waits until the last answer.
      call.disableIdleTimeout();
    }
  } finally {
    call.restoreIdleTimeout();
  }
  call.costNanodollars = costNanodollars;
  return answers;
}

function createNextCall({ now, kernel }: HttpDeps, { caller, httpRequest, asked, memory }: HttpCall): HttpCall {
  const openedAt = now();
  const about = { id: makeCallId(openedAt), openedAt, startedMs: kernel.now(), caller };
  const next = new HttpCall(about, httpRequest, { memory });
  next.protocol = "completions";
  next.asked = asked;
  return next;
}

function stream(deps: HttpDeps, call: HttpCall, request: ChatRequest): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, (chunk) => {
    const text = toTextChunk(chunk);
    return text === undefined ? "" : toEvent(text);
  });
  const answer = executeCall(deps, call, { capability: "chat", request, sink });
  return sseReply(
    deps,
    call,
    sink,
    answer.then(() => "data: [DONE]\n\n"),
  );
}
