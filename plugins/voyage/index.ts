import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/** https://docs.voyageai.com/reference/embeddings-api */
const embeddings = {
  fields: ["dimensions", "input_type", "truncation"],
  rename: { dimensions: "output_dimension" },
};

export default definePlugin({
  name: "voyage",
  baseUrl: "https://api.voyageai.com/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ embeddings, rerank: { fields: ["top_n", "truncation"], rename: { top_n: "top_k" } } }),
});
