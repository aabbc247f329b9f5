import { GatewayError } from "../../contract/index.ts";
import { readJson } from "../../lib/json.ts";
import { leavesCaching } from "../cache-marks.ts";
import {
  commonFields,
  type Exchange,
  expectTranslated,
  formatEvents,
  type Inbound,
  toNamedEvent,
  tryTranslate,
} from "../inbound.ts";
import { createReasoningEnvelope } from "../reasoning.ts";
import { createOpening, createResponseHead, ResponseStream, toOpening, toResponse } from "./client-stream.ts";
import { toResponsesError } from "./errors.ts";
import {
  checkResponsesRequest,
  expandRequest,
  fromResponsesRequest,
  refuseChatBody,
  type StoredContext,
} from "./inbound.ts";
import { PassedStream } from "./passed-stream.ts";
import { responsesFormat } from "./passthrough.ts";
import type { ResponseItem, ResponseObject, ResponsesRequest } from "./schema.ts";

/** Options of the translation of a Responses request. */
export interface ResponsesInboundOptions {
  readonly accountId: string;
  /** Seals reasoning: 32 bytes, the same on all nodes. */
  readonly sealKey: Uint8Array;
  /** The id of the model that is asked first. */
  readonly model: string;
  /** The id of the model that answers, which may be another than the first one. */
  servedModel(): string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Stored items that the request refers to. */
  readonly context: StoredContext;
  /** Stores an answer with the items of its turn, and may change it. */
  keep(response: ResponseObject, input: readonly ResponseItem[]): Promise<void>;
}

/** OpenAI's Responses protocol: Codex, the AI SDK and the Agents SDK. */
export const responsesInbound: Inbound<ResponsesRequest, ResponsesInboundOptions> = {
  protocol: "responses",
  endpoints: ["/responses", "/responses/:id", "/responses/:id/input_items"],
  triesWebSocket: true,
  example: { input: "Say hello", store: false },
  fields: {
    model: commonFields.model,
    input: "A text, or the items of the conversation",
    instructions: "The system message",
    max_output_tokens: "The most tokens to answer with, reasoning included",
    stream: "Whether to answer in server-sent events",
    store: "Whether the gateway keeps the answer, so that a later request can continue it",
    previous_response_id: "The kept answer to continue",
  },
  outputLimit: responsesFormat.outputLimit,
  refuse(body) {
    const refusal = refuseChatBody(body);
    if (refusal !== undefined) throw refusal;
    checkResponsesRequest(body);
  },
  toError: toResponsesError,
  open(body, { accountId, sealKey, model, servedModel, now, context, keep }): Exchange {
    const envelope = createReasoningEnvelope(sealKey, accountId);
    const { request: expanded, input } = expandRequest(body, context);
    const translated = tryTranslate(() => fromResponsesRequest(body, { envelope, model, ...context }));
    const { chat, plan } = translated instanceof GatewayError ? {} : translated;
    const head = Object.defineProperty(createResponseHead(model, now), "model", { get: servedModel });
    const stream = plan && new ResponseStream(plan, head);
    const passedStream = new PassedStream();
    const opening = () => createOpening(head, { request: body, stored: context.stored });
    const previous = body.previous_response_id;
    const finish = async (answer: object, isPassed: boolean) => {
      // A provider stores nothing; the gateway does.
      if (isPassed)
        Object.assign(answer, { store: context.stored, ...(previous && { previous_response_id: previous }) });
      await keep(answer as ResponseObject, input);
    };
    return {
      request: chat,
      untranslatable: translated instanceof GatewayError ? translated : undefined,
      leavesCaching: leavesCaching(body),
      losses: plan?.losses ?? [],
      passthrough: { format: responsesFormat, body: expanded },
      toAnswer: (completion) => toResponse(completion, expectTranslated(plan), head),
      push: (chunk) => formatEvents(expectTranslated(stream).push(chunk)),
      async end() {
        const events = expectTranslated(stream).finish();
        await finish(events.at(-1)?.response as ResponseObject, false);
        return formatEvents(events);
      },
      fail(error, passed) {
        if (passed === undefined && stream !== undefined) return formatEvents(stream.fail(error));
        return toNamedEvent(passedStream.fail(error, opening(), passed));
      },
      finish,
      pass: (event) => passedStream.pass(event),
      async endPassed(event) {
        const { data } = passedStream.pass(event) ?? event;
        const last = readJson(data, "event") as { response: object };
        await finish(last.response, true);
        return { event: event.event, data: JSON.stringify(last) };
      },
      heartbeat(passed) {
        if (passed !== undefined || stream === undefined) {
          const event = passedStream.heartbeat(passed);
          if (event !== undefined) return toNamedEvent(event);
          if (passed !== undefined) return undefined;
        }
        const events = stream?.heartbeat() ?? toOpening(opening());
        passedStream.follow(events);
        return formatEvents(events);
      },
    };
  },
};
