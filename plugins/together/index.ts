import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import rows from "../../catalogue/together.json" with { type: "json" };
import current from "./catalogue.json" with { type: "json" };

export default definePlugin({
  name: "together",
  baseUrl: "https://api.together.xyz/v1",
  models: readModels([...rows.models, ...current.models]),
  modelOptions: openaiModelOptions,
  handlers: openai({
    chat: { systemRole: "system", drop: ["prompt"] },
    embeddings: { omit: ["dimensions", "encoding_format", "user"] },
  }),
});
