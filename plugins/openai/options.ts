import type { ChatOptions } from "modelgate/plugin";
import type { ImagesOptions, OpenaiOptions, ResponsesOptions } from "../../src/protocols/openai/request.ts";

/** OpenAI speaks its own dialect; a model that reasons rejects the fields that steer sampling. */
export const chat: ChatOptions = {
  functions: "pass",
  callIds: "openai",
  cacheKey: true,
  stopsMax: 4,
  // Fields of other providers; `reasoning_effort` says the same.
  omit: ["reasoning", "thinking"],
  reasoningOmit: ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"],
  drop: ["moderation"],
};

/** Its image models answer with base64 alone and call the qualities by other names. */
export const image: ImagesOptions = {
  omit: ["response_format"],
  partialImages: true,
  values: { quality: { standard: "medium", hd: "high" } },
};

/** The Responses protocol is its own. */
const responses: ResponsesOptions = {
  inputTokens: true,
  compact: true,
  cacheKey: true,
  clientMetadata: true,
  responsesWebSocket: true,
};

/** All that it has. */
export const endpoints: OpenaiOptions = {
  chat,
  responses,
  embeddings: {},
  images: image,
  imageEdits: image,
  transcription: {},
  translation: {},
  speech: {},
  moderation: {},
  decisions: {},
};
