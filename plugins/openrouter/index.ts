import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/** https://openrouter.ai/docs/api-reference/overview */
const drop = ["provider", "native_finish_reason", "cost", "cost_details", "is_byok"];

export default definePlugin({
  name: "openrouter",
  baseUrl: "https://openrouter.ai/api/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ chat: { cacheControl: true, reasoningBack: ["reasoning_details", "reasoning"], drop } }),
  maxChoices: { chat: 1 },
});
