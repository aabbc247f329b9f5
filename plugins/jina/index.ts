import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/** https://api.jina.ai/redoc#tag/embeddings */
const embeddings = { fields: ["dimensions", "task", "late_chunking", "truncate", "normalized"] };

export default definePlugin({
  name: "jina",
  baseUrl: "https://api.jina.ai/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ embeddings, rerank: { fields: ["top_n", "truncation"], extra: { return_documents: false } } }),
});
