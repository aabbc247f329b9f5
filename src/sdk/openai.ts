import type { Handlers, Model } from "../contract/index.ts";
import { chatHandler } from "../protocols/openai/chat.ts";
import { embeddingsHandler } from "../protocols/openai/embeddings.ts";
import { imagesHandler } from "../protocols/openai/images.ts";
import { moderationHandler } from "../protocols/openai/moderation.ts";
import { type OpenaiOptions, resolveOptions } from "../protocols/openai/options.ts";
import { withPaths } from "../protocols/openai/paths.ts";
import { listLeftOut } from "../protocols/openai/request.ts";
import { speechHandler } from "../protocols/openai/speech.ts";
import { transcriptionHandler } from "../protocols/openai/transcription.ts";
import { rerankHandler } from "../protocols/rerank/outbound.ts";
import { countChatTokens, withResponsesEndpoint } from "../protocols/responses/outbound.ts";
import { responsesHandlers } from "../protocols/responses/passthrough.ts";

export type { OpenaiOptions };

/**
 * The handlers of a provider that speaks OpenAI's wire format. A capability that is not named has no handler. A model
 * row adds its own `omit` and `rename`, and its `options` may hold any quirk (`systemRole`, `think`, `values` …).
 *
 * @example
 * const handlers = openai({ chat: { omit: ["logprobs"], usageIn: "x_groq" }, transcription: {}, speech: {} });
 * Object.keys(handlers); // => ["chat", "transcription", "speech"]
 */
export function openai(options: OpenaiOptions): Handlers {
  const { chat, responses, embeddings, images, transcription, speech, moderation, rerank } = options;
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
    ...(transcription && { transcription: transcriptionHandler(transcription) }),
    ...(speech && { speech: speechHandler(speech) }),
    ...(moderation && { moderation: moderationHandler(moderation) }),
    ...(rerank && { rerank: rerankHandler(rerank) }),
  };
  return withPaths(handlers, options);
}
