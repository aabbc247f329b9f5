import { definePlugin, gemini, readModels } from "modelgate/plugin";
import rows from "../../catalogue/gemini.json" with { type: "json" };
import { imageEdits, images } from "../../src/protocols/generate-content/images.ts";
import current from "./catalogue.json" with { type: "json" };
import { embeddings } from "./embeddings.ts";
import { speech } from "./speech.ts";
import { transcription } from "./transcription.ts";

const chat = gemini();

export default definePlugin({
  ...chat,
  name: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  authorize: (_, { key }) => ({ "x-goog-api-key": key }),
  models: readModels([...rows.models, ...current.models]),
  handlers: { ...chat.handlers, embeddings, images, imageEdits, speech, transcription },
  // One image a request.
  modelOptions: { ...chat.modelOptions, imageSizes: "texts" },
  maxChoices: { ...chat.maxChoices, images: 1 },
});
