import { definePlugin, gemini, readModels } from "modelgate/plugin";
import current from "../../catalogue/current/gemini.json" with { type: "json" };
import rows from "../../catalogue/gemini.json" with { type: "json" };

export default definePlugin({
  name: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  authorize: (_, { key }) => ({ "x-goog-api-key": key }),
  models: readModels([...rows.models, ...current.models]),
  ...gemini(),
});
