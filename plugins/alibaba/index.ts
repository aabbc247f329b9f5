import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

export default definePlugin({
  name: "alibaba",
  baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({
    chat: { systemRole: "system", rename: { max_completion_tokens: "max_tokens" }, omit: ["reasoning_effort"] },
  }),
  maxChoices: { chat: 1 },
});
