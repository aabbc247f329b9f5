import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { chat } from "./options.ts";

export default definePlugin({
  name: "mistral",
  baseUrl: "https://api.mistral.ai/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({
    chat,
    embeddings: { fields: ["dimensions"], rename: { dimensions: "output_dimension" } },
    transcription: { verbose: false, omit: ["response_format", "prompt"] },
  }),
});
