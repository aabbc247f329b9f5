import { type GatewayError, mediaTypeOf, UpstreamError } from "../../contract/index.ts";
import {
  buildRegistry,
  ConnectionError,
  type Credential,
  monotonicNow,
  openNetwork,
  TimeoutScheduler,
} from "../../kernel/index.ts";
import { replaceTexts } from "../../lib/escapes.ts";
import { parseJson, readJson } from "../../lib/json.ts";
import { getSecrets, type ProviderPlugin } from "../../provider/index.ts";
import { describeUpstreamError } from "../../providers/index.ts";
import { UsageError } from "../command.ts";
import { UnreachableError } from "../unreachable.ts";
import type { Fixture, Reply } from "./fixture.ts";
import { readReply, serveOnce } from "./simulate.ts";

interface RecordOptions {
  readonly model: string;
  readonly prompt: string;
  readonly stream: boolean;
}

const secretForms = /\b(?:sk|gsk|pk|rk|tgp|xai|key)[-_][\w-]{8,}|\bAIza[\w-]{10,}|Bearer\s+[\w.~+/=-]+/g;

/**
 * Sends one request to the provider through the plugin, and makes a fixture of what went over the network.
 *
 * @throws {GatewayError} The error that a caller would have received.
 */
export async function recordCall(
  plugin: ProviderPlugin,
  credential: Credential,
  options: RecordOptions,
): Promise<Fixture> {
  const { model, prompt, stream } = options;
  const request = { messages: [{ role: "user", content: prompt }], ...(stream && { stream }) };
  const about = stream ? "a true answer, streamed" : "a true answer";
  const exchanges: { path: string; body: unknown; reply: Reply }[] = [];
  const { registry } = buildRegistry([plugin], () => credential);
  const baseUrl = (credential.baseUrl ?? plugin.baseUrl).replace(/\/+$/, "");
  const keepingFetch = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const path = url.startsWith(baseUrl) ? url.slice(baseUrl.length) : url;
    exchanges.push({ path, body: parseJson(String(init.body), "file"), reply: toReply(response, text, bytes) });
    const headers = { "content-type": response.headers.get("content-type") ?? "" };
    return new Response(bytes, { status: response.status, headers });
  };
  const network = openNetwork(new TimeoutScheduler(), monotonicNow, { fetch: keepingFetch as unknown as typeof fetch });
  const outcome = await serveOnce({ registry, network }, { model, request });
  if (outcome.error !== undefined) throw explainFailure(outcome.error, baseUrl, credential);
  const last = exchanges.at(-1);
  if (last === undefined) throw new Error("Cannot record: the plugin sent no request");
  const { content, finishReason } = readReply(outcome);
  const { inputToken, outputToken } = outcome.settlement?.meters ?? {};
  const isReported = outcome.settlement?.usageSource === "reported";
  const expect = {
    content,
    ...(finishReason && { finishReason }),
    ...(isReported &&
      inputToken !== undefined &&
      outcome.settlement?.meters.cacheReadToken === undefined && { promptTokens: inputToken }),
    ...(isReported && outputToken !== undefined && { completionTokens: outputToken }),
  };
  const fixture: Fixture = { about, model, request, ...last, expect };
  return readJson(withoutSecrets(JSON.stringify(fixture), credential.keys), "file") as Fixture;
}

/** Names the host that failed and the reason: for the operator, never for a caller. */
function explainFailure(error: GatewayError, baseUrl: string, { keys }: Credential): Error {
  if (!(error.cause instanceof UpstreamError)) return error;
  const message = `Cannot record: ${describeUpstreamError(error.cause, new URL(baseUrl).host, keys)}`;
  return error.cause instanceof ConnectionError ? new UnreachableError(message) : new UsageError(message);
}

/** Keys, ours and what looks like one. */
function withoutSecrets(text: string, keys: readonly string[]): string {
  return replaceTexts(text, keys.flatMap(getSecrets), "hidden").replace(secretForms, "hidden");
}

function toReply(response: Response, text: string, bytes: Uint8Array): Reply {
  const mediaType = mediaTypeOf(response.headers.get("content-type")) ?? "";
  const status = response.status === 200 ? {} : { status: response.status };
  if (mediaType === "application/vnd.amazon.eventstream") return { ...status, mediaType, base64: bytes.toBase64() };
  const json = mediaType === "application/json" ? parseJson(text, "file") : undefined;
  return json === undefined ? { ...status, mediaType, text } : { ...status, json };
}
