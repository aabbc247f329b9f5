import type { ChatOptions } from "modelgate/plugin";

/** Reasoning comes in the content, between tags. https://platform.minimax.io/docs/api-reference/text-openai-api */
export const chat: ChatOptions = {
  omit: ["presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort"],
  systemRole: "system",
  think: true,
  reasoningBack: ["content"],
  drop: `base_resp input_sensitive input_sensitive_type output_sensitive output_sensitive_type output_sensitive_int
    total_characters audio_content`.split(/\s+/),
};
