import { definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/** https://inference-docs.cerebras.ai/api-reference/chat-completions: other fields are refused. */
const fields = `max_tokens max_completion_tokens temperature top_p stop seed tools tool_choice parallel_tool_calls
  response_format reasoning_effort logprobs top_logprobs user`.split(/\s+/);

export default definePlugin({
  name: "cerebras",
  baseUrl: "https://api.cerebras.ai/v1",
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({
    chat: { fields, stopsMax: 4, rename: { max_tokens: "max_completion_tokens" }, drop: ["time_info"] },
  }),
  maxChoices: { chat: 1 },
});
