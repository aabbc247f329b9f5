import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };
import { speech } from "./speech.ts";

export default definePlugin({
  name: "alibaba",
  baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: {
    ...openai({
      chat: { systemRole: "system", rename: { max_completion_tokens: "max_tokens" }, omit: ["reasoning_effort"] },
    }),
    speech,
  },
  maxChoices: { chat: 1 },
});
