import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

export default definePlugin({
  name: "moonshot",
  baseUrl: "https://api.moonshot.ai/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({
    chat: {
      systemRole: "system",
      stopsMax: 5,
      keepsReasoning: true,
      messageFields: ["partial"],
      drop: ["cached_tokens"],
    },
  }),
});
