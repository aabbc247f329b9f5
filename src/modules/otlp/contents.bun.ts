import { type Attributes, ROOT_CONTEXT, type SpanContext, trace } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { trimSlashes } from "../../contract/index.ts";
import type { ClientCall } from "../../kernel/index.ts";
import type { ContentSink } from "../module.ts";
import type { OtlpOptions } from "./otlp-options.ts";
import { operations, providerName } from "./traces/span-attributes.ts";

/** Queued events: each has at most some hundred kilobytes of text. Beyond that they are lost. */
const eventsMax = 64;
const batchEvents = 8;
const batchMs = 1_000;
const exportMsMax = 5_000;
const closeMsMax = 2_000;

/** Prompts and answers that are sent to the collector as events of the GenAI conventions. */
interface ContentExport extends ContentSink {
  close(): Promise<void>;
}

type Turn = Parameters<ReturnType<ContentSink["prepare"]>>[0]["request"][number];

/** @param spanOf The span of a call that has ended. */
export function openOtlpContents(
  { endpoint, headers, serviceName, version }: OtlpOptions,
  spanOf: (call: ClientCall) => SpanContext | undefined,
): ContentExport {
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    processors: [
      new BatchLogRecordProcessor({
        exporter: new OTLPLogExporter({
          url: `${trimSlashes(endpoint)}/v1/logs`,
          headers: { ...headers },
          timeoutMillis: exportMsMax,
        }),
        maxQueueSize: eventsMax,
        maxExportBatchSize: batchEvents,
        scheduledDelayMillis: batchMs,
        exportTimeoutMillis: exportMsMax,
      }),
    ],
  });
  const logger = provider.getLogger("modelgate", version);
  return {
    prepare(call) {
      const { id, openedAt, capability, session, caller } = call.request;
      const { model, plugin } = call.run ?? {};
      const span = spanOf(call);
      const attributes: Attributes = {
        "gen_ai.operation.name": operations[capability],
        "gen_ai.response.id": id,
        "modelgate.account": caller.accountId,
        "modelgate.key": caller.keyId,
        ...(model !== undefined && { "gen_ai.request.model": model }),
        ...(plugin !== undefined && { "gen_ai.provider.name": providerName(plugin) }),
        ...(session !== undefined && { "gen_ai.conversation.id": session }),
      };
      return ({ request, answer }) => {
        logger.emit({
          timestamp: openedAt,
          eventName: "gen_ai.client.inference.operation.details",
          attributes: {
            ...attributes,
            "gen_ai.input.messages": JSON.stringify(request.map((turn) => toMessage(turn, "user"))),
            "gen_ai.output.messages": JSON.stringify(answer.map((turn) => toMessage(turn, "assistant"))),
          },
          ...(span !== undefined && { context: trace.setSpanContext(ROOT_CONTEXT, span) }),
        });
      };
    },
    async close() {
      await Promise.race([provider.shutdown().catch(() => undefined), Bun.sleep(closeMsMax)]);
    },
  };
}

const roles: ReadonlySet<string> = new Set(["system", "user", "assistant", "tool"]);

/** A message with one part. What is no role of the conventions, such as a tool call, is named before its text. */
function toMessage({ role, text }: Turn, own: "user" | "assistant") {
  if (role.startsWith("reasoning")) return { role: own, parts: [{ type: "reasoning", content: text }] };
  if (roles.has(role)) return { role, parts: [{ type: "text", content: text }] };
  return { role: own, parts: [{ type: "text", content: `${role}: ${text}` }] };
}
