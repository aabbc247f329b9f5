import type { ChatOptions } from "modelgate/plugin";

/** Mistral refuses a request with a field that it does not know. https://docs.mistral.ai/api */
export const chat: ChatOptions = {
  fields: `max_tokens max_completion_tokens temperature top_p stop seed n presence_penalty frequency_penalty tools
    tool_choice parallel_tool_calls response_format reasoning_effort prompt_mode safe_prompt`.split(/\s+/),
  rename: { max_completion_tokens: "max_tokens", seed: "random_seed" },
  messageOmit: ["name", "refusal", "annotations", "audio", "reasoning_content", "reasoning", "reasoning_details"],
  messageFields: ["prefix"],
  systemRole: "system",
  callIds: "mistral",
  streamOptions: false,
};
