import { definePlugin, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { speech } from "./speech.ts";
import { transcription } from "./transcription.ts";

export default definePlugin({
  name: "elevenlabs",
  baseUrl: "https://api.elevenlabs.io/v1",
  authorize: (_, { key }) => ({ "xi-api-key": key }),
  models: readModels(catalogue),
  modelOptions: {},
  handlers: { transcription, speech },
});
