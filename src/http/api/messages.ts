import { Elysia } from "elysia";
import {
  type ChatChunk,
  type ChatCompletion,
  MessagesAnswer,
  MessagesCountRequest,
  MessagesRequest,
} from "../../contract/index.ts";
import { countTokens, messagesProtocol } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { toGatewayError } from "../middleware/errors.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { InputTokens, NamedEvent, responsesOfMessages } from "./openapi.ts";

const {
  countInputTokens,
  MessagesStream,
  refuseOtherProtocols,
  ThoughtSigner,
  toChatRequest,
  toEventText,
  toMessagesAnswer,
  toMessagesError,
} = messagesProtocol;

/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /messages, whole or as server-sent events, through the chat of any model. */
export function messagesController(deps: HttpDeps) {
  const signer = new ThoughtSigner(deps.sealKey);
  const parse = readJsonCall(deps, refuseOtherProtocols);
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/messages",
      replyOnce<MessagesRequest>(deps, async ({ call, body }) => {
        call.protocol = "messages";
        const outputTokensMax = deps.kernel.registry.byName(body.model)?.model.outputTokensMax;
        const warn = (sentence: string) => call.warn(sentence);
        const { request, plan } = toChatRequest(body, { signer, outputTokensMax, warn });
        if (body.stream === true) return await stream(deps, call, request, new MessagesStream(plan));
        const completion = await executeCall(deps, call, { capability: "chat", request });
        return jsonReply(deps, call, toMessagesAnswer(completion as ChatCompletion, plan));
      }),
      {
        parse: [parse, "json"],
        body: requestBody(MessagesRequest),
        detail: {
          summary: "Chat by Anthropic's Messages protocol",
          description: "For Claude Code and Anthropic's SDKs. Errors have Anthropic's envelope and statuses.",
          tags: ["Calls"],
          responses: responsesOfMessages({ "application/json": MessagesAnswer, "text/event-stream": NamedEvent }),
        },
      },
    )
    .post(
      "/messages/count_tokens",
      async ({ call, body }) => {
        call.protocol = "messages";
        const count = (text: string) => countTokens(text.slice(0, countedCharactersMax), text.length);
        return jsonReply(deps, call, await countInputTokens(body, count));
      },
      {
        parse: [parse, "json"],
        body: requestBody(MessagesCountRequest),
        detail: {
          summary: "Count the input tokens of a message",
          description: "An estimate, free of charge.",
          tags: ["Calls"],
          responses: responsesOfMessages({ "application/json": InputTokens }),
        },
      },
    );
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  request: ReturnType<typeof toChatRequest>["request"],
  events: InstanceType<typeof MessagesStream>,
): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, (chunk) => events.push(chunk).map(toEventText).join(""));
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    () => events.end().map(toEventText).join(""),
    (error) => {
      if (!sink.isOpen) throw error;
      return toEventText(toMessagesError(toGatewayError(error, deps.log), call.id).body);
    },
  );
  return sseReply(deps, call, sink, answer);
}
