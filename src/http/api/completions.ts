import { makeCallId } from "../../contract/index.ts";
import { completionsInbound, toChatRequests, toTextCompletion } from "../../protocols/completions/inbound.ts";
import { CompletionsRequest, TextCompletion } from "../../protocols/completions/schema.ts";
import type { ChatCompletion, ChatRequest } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { HttpCall } from "../lifecycle/http-call.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { EventBody, responses } from "./openapi.ts";
import { serveExchange } from "./serve-exchange.ts";

const Body = CompletionsRequest;

/** POST /completions, OpenAI's legacy endpoint, through the chat of any model. */
export function completionsController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/completions",
        body: jsonBody(deps, Body, { capability: "chat", inbound: completionsInbound }),
        detail: {
          summary: "Text generation from a prompt (legacy)",
          description: "Each prompt is one message of the user to a chat model, and one call in the ledger.",
          tags: ["Calls"],
          responses: responses({ "application/json": TextCompletion, "text/event-stream": EventBody }),
        },
      },
      async ({ call, body }) => {
        const requests = toChatRequests(body);
        if (body.stream === true) {
          return await serveExchange(deps, call, completionsInbound.open(requests[0] as ChatRequest));
        }
        return jsonReply(deps, call, toTextCompletion(await answerAll(deps, call, requests)));
      },
    ),
  ];
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

function createNextCall({ now, kernel }: HttpDeps, call: HttpCall): HttpCall {
  const { caller, httpRequest, memory, slot, inbound, capability } = call;
  const openedAt = now();
  const about = { id: makeCallId(openedAt), openedAt, startedMs: kernel.now(), caller };
  const next = new HttpCall(about, httpRequest, { memory, slot, isProgram: call.isProgram, inbound, capability });
  next.candidates = call.candidates;
  return next;
}
