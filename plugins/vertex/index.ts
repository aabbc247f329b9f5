import { anthropic, definePlugin, gemini, mapRequests, readModels } from "modelgate/plugin";
import { imageEdits, images } from "../../src/protocols/generate-content/images.ts";
import current from "./catalogue.json" with { type: "json" };
import { authorize, credential } from "./credential.ts";
import { embeddings, readTokens } from "./embeddings.ts";
import { toAnthropic, toGoogle } from "./requests.ts";

const google = gemini();
const { modelOptions, ...claude } = anthropic({ headers: {} });
/** Claude speaks Anthropic's protocol here too. */
const claudeParts = { ...claude, handlers: mapRequests(claude.handlers, toAnthropic) };

export default definePlugin({
  ...google,
  name: "vertex",
  baseUrl: "https://aiplatform.googleapis.com",
  hosts: ["oauth2.googleapis.com", "aiplatform.googleapis.com"],
  credential,
  authorize,
  models: readModels(current),
  modelOptions: {
    ...google.modelOptions,
    ...modelOptions,
    thinking: ["adaptive", "budget", "level"],
    /** Location that the model is called at, whatever the credential says: its price is for that location. */
    location: "text",
    imageSizes: "texts",
  },
  handlers: mapRequests({ ...google.handlers, embeddings, images, imageEdits }, toGoogle),
  maxChoices: { ...google.maxChoices, images: 1 },
  readUsage: (part, before) => readTokens(part) ?? google.readUsage?.(part, before),
  forModel: ({ upstreamId }) => (upstreamId.startsWith("claude") ? claudeParts : undefined),
});
