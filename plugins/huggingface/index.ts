import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/**
 * The name of a model ends with the company that serves it; the price in the row is that company's.
 * https://huggingface.co/docs/inference-providers
 */
export default definePlugin({
  name: "huggingface",
  baseUrl: "https://router.huggingface.co/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ chat: { systemRole: "system", rename: { max_completion_tokens: "max_tokens" } } }),
  maxChoices: { chat: 1 },
});
