import { definePlugin, openaiModelOptions, readModels } from "modelgate/plugin";
import rows from "../../catalogue/sarvam.json" with { type: "json" };
import current from "./catalogue.json" with { type: "json" };
import { chat, omits } from "./chat.ts";
import { speech, toSpeechBody } from "./speech.ts";
import { transcription } from "./transcription.ts";

export default definePlugin({
  name: "sarvam",
  baseUrl: "https://api.sarvam.ai",
  authorize: (_, { key }) => ({ "api-subscription-key": key }),
  models: readModels([...rows.models, ...current.models]),
  modelOptions: { ...openaiModelOptions, languageDefault: "text", paceMin: "number", paceMax: "number" },
  handlers: { chat: Object.assign(chat, { omits }), transcription, speech },
  checks: { speech: (requested) => void toSpeechBody({ ...requested, warn: () => undefined }) },
});
