import { definePlugin, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { speech, toVoice } from "./speech.ts";
import { transcription } from "./transcription.ts";

export default definePlugin({
  name: "deepgram",
  baseUrl: "https://api.deepgram.com/v1",
  authorize: (_, { key }) => ({ authorization: `Token ${key}` }),
  models: readModels(catalogue),
  modelOptions: {},
  handlers: { transcription, speech },
  checks: { speech: ({ request, model }) => void toVoice(request, model) },
});
