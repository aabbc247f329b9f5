import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import rows from "../../catalogue/openai.json" with { type: "json" };
import current from "./catalogue.json" with { type: "json" };
import { endpoints } from "./options.ts";

export default definePlugin({
  name: "openai",
  baseUrl: "https://api.openai.com/v1",
  models: readModels([...rows.models, ...current.models]),
  modelOptions: openaiModelOptions,
  handlers: openai(endpoints),
  takes: ["tokenInput", "customTools"],
});
