import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { chat } from "./options.ts";

export default definePlugin({
  name: "perplexity",
  baseUrl: "https://api.perplexity.ai",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ chat }),
  maxChoices: { chat: 1 },
});
