import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

export default definePlugin({
  name: "xai",
  baseUrl: "https://api.x.ai/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({
    chat: { omit: ["logit_bias"], drop: ["num_sources_used", "cost_in_usd_ticks", "citations"] },
    responses: {},
    images: { fields: ["n", "aspect_ratio"] },
    imageEdits: { fields: ["n", "aspect_ratio"], imagesAs: "urls" },
  }),
});
