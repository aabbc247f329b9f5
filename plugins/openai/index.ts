import { definePlugin, openai, readModels } from "modelgate/plugin";
import rows from "../../catalogue/openai.json" with { type: "json" };
import { chat, image, responses } from "./options.ts";

export default definePlugin({
  name: "openai",
  baseUrl: "https://api.openai.com/v1",
  models: readModels(rows),
  handlers: openai({ chat, responses, images: image, embeddings: {}, transcription: {}, speech: {} }),
});
