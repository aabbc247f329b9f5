import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import rows from "../../catalogue/groq.json" with { type: "json" };
import current from "./catalogue.json" with { type: "json" };
import { chat } from "./options.ts";

export default definePlugin({
  name: "groq",
  baseUrl: "https://api.groq.com/openai/v1",
  models: readModels([...rows.models, ...current.models]),
  modelOptions: openaiModelOptions,
  handlers: openai({ chat, transcription: {}, speech: {} }),
  maxChoices: { chat: 1 },
});
