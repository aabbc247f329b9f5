import type { Attributes } from "@opentelemetry/api";
import {
  type Capability,
  cacheWriteMeters,
  nanodollarsPerUsd,
  promptMeters,
  sumOutputTokens,
} from "../../../contract/index.ts";
import type { ClientCall } from "../../../kernel/index.ts";
import type { Model } from "../../../provider/index.ts";

/** OpenTelemetry's operation names, and our own for operations without one. */
export const operations: Readonly<Record<Capability, string>> = {
  chat: "chat",
  embeddings: "embeddings",
  images: "generate_content",
  imageEdits: "generate_content",
  transcription: "transcription",
  translation: "translation",
  speech: "speech",
  moderation: "moderation",
  rerank: "rerank",
};

const outputTypes: Partial<Record<Capability, string>> = {
  chat: "text",
  images: "image",
  imageEdits: "image",
  speech: "speech",
  transcription: "text",
  translation: "text",
};

/** Providers whose name in OpenTelemetry differs from the plugin's. */
const providers: Readonly<Record<string, string>> = { gemini: "gcp.gemini", mistral: "mistral_ai", xai: "x_ai" };

/** The provider's name in OpenTelemetry. */
export function providerName(plugin: string): string {
  return providers[plugin] ?? plugin;
}

/** The attributes of a call's span; never its prompt or answer. */
export function callAttributes(call: ClientCall, answeredBy: Model | undefined): Attributes {
  const { run } = call;
  const { capability, sink, clientRequestId } = call.request;
  const { firstByteMs, plugin } = run ?? {};
  const { meters = {}, usageSource = "none", costNanodollars } = run?.outcome ?? {};
  const isStreamed = sink !== undefined;
  const attributes: Attributes = {
    "gen_ai.operation.name": operations[capability],
    "gen_ai.request.stream": isStreamed,
    "gen_ai.response.id": call.id,
    "http.request.method": "POST",
    "http.response.status_code": call.status,
    "modelgate.attempts": call.attempts,
    "modelgate.state": call.state,
    "modelgate.usage_source": usageSource,
  };
  const more: Record<string, string | number | string[] | undefined> = {
    "gen_ai.output.type": outputTypes[capability],
    "gen_ai.provider.name": plugin === undefined ? undefined : providerName(plugin),
    "gen_ai.request.model": run?.model,
    "gen_ai.response.model": answeredBy?.upstreamId,
    "gen_ai.response.finish_reasons": run?.answer.finishReasons,
    "gen_ai.response.time_to_first_chunk": isStreamed && firstByteMs !== undefined ? firstByteMs / 1000 : undefined,
    // OpenTelemetry counts cached tokens as input.
    "gen_ai.usage.input_tokens": addAmounts(...promptMeters.map((name) => meters[name])),
    "gen_ai.usage.output_tokens": sumOutputTokens(meters),
    "gen_ai.usage.cache_read.input_tokens": meters.cacheReadToken,
    "gen_ai.usage.cache_write.input_tokens": addAmounts(...cacheWriteMeters.map((name) => meters[name])),
    "gen_ai.conversation.id": call.request.session,
    "modelgate.client_request_id": clientRequestId,
    "modelgate.cost_usd": costNanodollars === undefined ? undefined : costNanodollars / nanodollarsPerUsd,
    "error.type": call.errorCode,
  };
  for (const name in more) if (more[name] !== undefined) attributes[name] = more[name];
  return attributes;
}

/** A sum of what is known; `undefined` when nothing is. */
export function addAmounts(...amounts: (number | undefined)[]): number | undefined {
  let total: number | undefined;
  for (const amount of amounts) if (amount !== undefined) total = (total ?? 0) + amount;
  return total;
}
