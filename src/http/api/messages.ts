import { countTokens } from "../../kernel/index.ts";
import { countInputTokens, withoutOwnThoughts, withoutThread } from "../../protocols/messages/inbound.ts";
import { messagesInbound } from "../../protocols/messages/index.ts";
import { messagesFormat } from "../../protocols/messages/passthrough.ts";
import { MessagesAnswer, MessagesCountRequest, MessagesRequest } from "../../protocols/messages/schema.ts";
import { toSpendHeaders } from "../../protocols/messages/spend-limit.ts";
import { createReasoningEnvelope } from "../../protocols/reasoning.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { findOwnBudget } from "./gateway-session.ts";
import { EventBody, InputTokens, responsesOfMessages } from "./openapi.ts";
import { type CountLimiter, countExchange, serveExchange } from "./serve-exchange.ts";

/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /messages, whole or as server-sent events: natively where the provider speaks the protocol, else through chat. */
export function messagesController(deps: HttpDeps, counts: CountLimiter) {
  const endpoint = { capability: "chat", inbound: messagesInbound } as const;
  return [
    callRoute(
      deps,
      {
        path: "/messages",
        body: jsonBody(deps, MessagesRequest, endpoint),
        detail: {
          summary: "Chat by Anthropic's Messages protocol",
          description: "For Claude Code and Anthropic's SDKs. Errors have Anthropic's envelope and statuses.",
          tags: ["Calls"],
          responses: responsesOfMessages({ "application/json": MessagesAnswer, "text/event-stream": EventBody }),
        },
      },
      async ({ call, body }) => {
        const exchange = messagesInbound.open(body, {
          callId: call.id,
          envelope: createReasoningEnvelope(deps.sealKey, call.caller.accountId),
          model: call.publicModel ?? call.modelEntry.model.id,
          outputTokensMax: findOutputTokensMax(call),
          leaveOut: (field) => call.leaveOut(field),
        });
        if (!call.isProgram) return await serveExchange(deps, call, exchange);
        const [response, headers] = await Promise.all([
          serveExchange(deps, call, exchange),
          readSpendHeaders(deps, call),
        ]);
        for (const name in headers) response.headers.set(name, headers[name] as string);
        return response;
      },
    ),
    callRoute(
      deps,
      {
        path: "/messages/count_tokens",
        body: jsonBody(deps, MessagesCountRequest, endpoint),
        detail: {
          summary: "Count the input tokens of a message",
          description: "By the provider where it counts, otherwise an estimate. Free of charge.",
          tags: ["Calls"],
          responses: responsesOfMessages({ "application/json": InputTokens }),
        },
        isFree: true,
      },
      async ({ call, body }) => {
        counts.take(call);
        const requested = withoutOwnThoughts(withoutThread(body));
        const counted = await countExchange(deps, call, { format: messagesFormat, body: requested });
        if (counted !== undefined) return jsonReply(deps, call, { input_tokens: counted });
        const count = (text: string) => countTokens(text.slice(0, countedCharactersMax), text.length);
        return jsonReply(deps, call, await countInputTokens(body, count));
      },
    ),
  ];
}

/** The budget of a program's person, read while the provider is waited for. */
async function readSpendHeaders(deps: HttpDeps, { caller }: HttpCall): Promise<Record<string, string> | undefined> {
  try {
    const state = findOwnBudget(caller, await deps.ledger.readLimitsUsage(caller));
    return state && toSpendHeaders(state);
  } catch (error) {
    deps.log.error("limits_unknown", { error });
    return undefined;
  }
}

/** The smallest limit of the models that may serve the call; `undefined` when none has one. */
function findOutputTokensMax({ candidates }: Pick<HttpCall, "candidates">): number | undefined {
  const limits = (candidates ?? []).flatMap(({ modelEntry: { model } }) => model.outputTokensMax ?? []);
  return limits.length === 0 ? undefined : Math.min(...limits);
}
