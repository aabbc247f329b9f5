import { type ChatOptions, definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import current from "./catalogue.json" with { type: "json" };
import { claudeOptions, claudeParts } from "./claude.ts";
import { authorize, credential } from "./credential.ts";
import { readError } from "./errors.ts";

/** Options of OpenAI's own chat. The fields that Azure's content filter adds to choices and prompts are dropped. */
const chat: ChatOptions = {
  functions: "pass",
  callIds: "openai",
  stopsMax: 4,
  omit: ["reasoning", "thinking", "moderation"],
  reasoningOmit: ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"],
  drop: ["content_filter_results", "content_filter_offsets", "content_filter_result", "prompt_filter_results"],
};
const images = { omit: ["response_format"], values: { quality: { standard: "medium", hd: "high" } } };

export default definePlugin({
  name: "azure",
  baseUrl: "https://RESOURCE.openai.azure.com/openai/v1",
  hosts: ["*.services.ai.azure.com", "login.microsoftonline.com"],
  credential,
  authorize,
  models: readModels(current),
  modelOptions: { ...openaiModelOptions, ...claudeOptions, protocol: ["messages"] },
  handlers: openai({ chat, responses: {}, images, imageEdits: images, embeddings: {} }),
  forModel: ({ options }) => (options?.protocol === "messages" ? claudeParts : undefined),
  takes: ["tokenInput", "customTools"],
  readError,
});
