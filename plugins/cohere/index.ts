import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { embeddings, readUsage } from "./embeddings.ts";

/** Chat by its endpoint for OpenAI's clients. https://docs.cohere.com/docs/compatibility-api */
const chat = {
  path: "/compatibility/v1/chat/completions",
  fields:
    `max_tokens max_completion_tokens temperature top_p stop seed presence_penalty frequency_penalty tools tool_choice
    response_format reasoning_effort`.split(/\s+/),
  rename: { max_completion_tokens: "max_tokens" },
  stopsMax: 5,
};

export default definePlugin({
  name: "cohere",
  baseUrl: "https://api.cohere.com",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: {
    ...openai({ chat, rerank: { path: "/v2/rerank", fields: ["top_n", "max_tokens_per_doc"] } }),
    embeddings,
  },
  maxChoices: { chat: 1 },
  readUsage,
});
