import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { chat } from "./options.ts";

export default definePlugin({
  name: "fireworks",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ chat, embeddings: { fields: ["dimensions"] }, rerank: { fields: ["top_n"] } }),
});
