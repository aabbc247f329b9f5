import { definePlugin, openai, openaiModelOptions } from "modelgate/plugin";

/** Fields that its servers take; most of the servers are vLLM. https://docs.api.nvidia.com/nim/reference/llm-apis */
const fields = `max_tokens max_completion_tokens temperature top_p stop seed frequency_penalty presence_penalty tools
  tool_choice response_format logprobs top_logprobs reasoning_effort`.split(/\s+/);
const nothing = { usd: "0", per: 1_000_000 };

export default definePlugin({
  name: "nvidia-nim",
  baseUrl: "https://integrate.api.nvidia.com/v1",
  models: [],
  modelOptions: openaiModelOptions,
  // Neither its trial nor a container of one's own has a price by the token.
  unlisted: { premium: false, price: { inputToken: nothing, outputToken: nothing } },
  handlers: openai({ chat: { fields, rename: { max_completion_tokens: "max_tokens" }, systemRole: "system" } }),
  maxChoices: { chat: 1 },
});
