import type { Handlers } from "../../../contract/index.ts";
import { chatHandler } from "./chat.ts";
import { embedHandler } from "./embed.ts";
import { imageHandler } from "./image.ts";
import type { ChatQuirks, EmbedQuirks, ImageQuirks, SpeakQuirks, TranscribeQuirks } from "./quirks.ts";
import { speakHandler } from "./speak.ts";
import { transcribeHandler } from "./transcribe.ts";

/** Which capabilities a provider has in OpenAI's dialect, each with what it does differently (`{}`: nothing). */
export interface OpenaiOptions {
  chat?: ChatQuirks;
  embed?: EmbedQuirks;
  image?: ImageQuirks;
  transcribe?: TranscribeQuirks;
  speak?: SpeakQuirks;
}

/**
 * The handlers of a provider that speaks OpenAI's wire format. A capability that is not named has no handler. A model
 * row adds its own `omit` and `rename`, and its `options` may hold any quirk (`systemRole`, `think`, `values` …).
 *
 * @example
 * const handlers = openai({ chat: { omit: ["logprobs"], usageIn: "x_groq" }, transcribe: {}, speak: {} });
 * Object.keys(handlers); // => ["chat", "transcribe", "speak"]
 */
export function openai(options: OpenaiOptions): Handlers {
  const { chat, embed, image, transcribe, speak } = options;
  return {
    ...(chat && { chat: chatHandler(chat) }),
    ...(embed && { embed: embedHandler(embed) }),
    ...(image && { image: imageHandler(image) }),
    ...(transcribe && { transcribe: transcribeHandler(transcribe) }),
    ...(speak && { speak: speakHandler(speak) }),
  };
}
