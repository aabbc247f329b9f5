import { decisionsHandler } from "../protocols/decisions/passthrough.ts";
import { mapRequests } from "../protocols/map-requests.ts";
import { chatHandler } from "../protocols/openai/chat.ts";
import { embeddingsHandler } from "../protocols/openai/embeddings.ts";
import { imageEditsHandler, imagesHandler } from "../protocols/openai/images.ts";
import { moderationHandler } from "../protocols/openai/moderation.ts";
import { listLeftOut, type OpenaiOptions, resolveOptions } from "../protocols/openai/request.ts";
import { speechHandler } from "../protocols/openai/speech.ts";
import { transcriptionHandler, translationHandler } from "../protocols/openai/transcription.ts";
import { rerankHandler } from "../protocols/rerank/outbound.ts";
import { countChatTokens, withResponsesEndpoint } from "../protocols/responses/outbound.ts";
import { responsesHandlers } from "../protocols/responses/passthrough.ts";
import type { Call, Handlers, Model } from "../provider/index.ts";

/**
 * The handlers of a provider that speaks OpenAI's wire format. A capability that is not named has no handler. A model
 * row adds its own `omit` and `rename`, and its `options` may hold any quirk (`systemRole`, `think`, `values` …).
 *
 * @example
 * const handlers = openai({ chat: { omit: ["logprobs"], usageIn: "x_groq" }, transcription: {}, speech: {} });
 * Object.keys(handlers); // => ["chat", "transcription", "speech"]
 */
export function openai(options: OpenaiOptions): Handlers {
  const { chat, responses, embeddings, images, imageEdits, transcription, translation, speech } = options;
  const { moderation, rerank, decisions } = options;
  const handlers: Handlers = {
    ...(chat && {
      chat: Object.assign(withResponsesEndpoint(chatHandler(chat), chat, responses !== undefined), {
        omits: (model: Model) => listLeftOut(resolveOptions(chat, model)),
      }),
    }),
    ...(responses && responsesHandlers(responses)),
    ...(chat && responses?.inputTokens && { countChatTokens: countChatTokens(chat) }),
    ...(embeddings && { embeddings: embeddingsHandler(embeddings) }),
    ...(images && { images: imagesHandler(images) }),
    ...(imageEdits && { imageEdits: imageEditsHandler(imageEdits) }),
    ...(translation && { translation: translationHandler(translation) }),
    ...(transcription && { transcription: transcriptionHandler(transcription) }),
    ...(speech && { speech: speechHandler(speech) }),
    ...(moderation && { moderation: moderationHandler(moderation) }),
    ...(rerank && { rerank: rerankHandler(rerank) }),
    ...(decisions && { decisions: decisionsHandler(decisions) }),
  };
  return withPaths(handlers, options);
}

/** Where OpenAI has each of its endpoints. */
const ownPaths: readonly (readonly [capability: keyof OpenaiOptions, path: string])[] = [
  ["chat", "/chat/completions"],
  ["responses", "/responses"],
  ["embeddings", "/embeddings"],
  ["images", "/images/generations"],
  ["imageEdits", "/images/edits"],
  ["transcription", "/audio/transcriptions"],
  ["translation", "/audio/translations"],
  ["speech", "/audio/speech"],
  ["moderation", "/moderations"],
  ["rerank", "/rerank"],
  ["decisions", "/decisions"],
];

/** The handlers, asking at the `path` of their options, or of the row where it has one. */
function withPaths(handlers: Handlers, options: OpenaiOptions): Handlers {
  const isMoved = ownPaths.some(([capability]) => options[capability]?.path !== undefined);
  const mapped = mapRequests(handlers, ({ path, body, model }) => ({ path: toPath(path, model, options), body }));
  const entries = Object.entries(handlers).map(([name, handler]) => {
    const moved = mapped[name as keyof Handlers] as Handler;
    const choose: Handler = (call) =>
      (isMoved || call.model.options?.path !== undefined ? moved : (handler as Handler))(call);
    return [name, Object.assign(choose, { ...handler })];
  });
  return Object.fromEntries(entries) as Handlers;
}

type Handler = (call: Call<unknown>) => Promise<unknown>;

function toPath(path: string, model: Model, options: OpenaiOptions): string {
  const ownPath = ownPaths.find(([, own]) => path === own || path.startsWith(`${own}/`));
  if (ownPath === undefined) return path;
  const [capability, own] = ownPath;
  // The path in a row applies only to the endpoint that serves the row.
  const isOfRow = capability === (model.endpoint ?? model.capability);
  const defaults = options[capability] ?? {};
  const pathOfRow = isOfRow ? resolveOptions(defaults, model).path : defaults.path;
  if (pathOfRow === undefined) return path;
  return pathOfRow.replaceAll("{model}", encodeURIComponent(model.upstreamId)) + path.slice(own.length);
}
