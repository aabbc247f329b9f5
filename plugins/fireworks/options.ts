import type { ChatOptions } from "modelgate/plugin";

/** Fields that it does not know are refused. https://docs.fireworks.ai/api-reference/post-chatcompletions */
export const chat: ChatOptions = {
  fields: `max_tokens max_completion_tokens temperature top_p top_k min_p stop seed n logprobs top_logprobs
    presence_penalty frequency_penalty repetition_penalty logit_bias tools tool_choice parallel_tool_calls response_format
    reasoning_effort user prompt_cache_key`.split(/\s+/),
  rename: { max_completion_tokens: "max_tokens" },
  systemRole: "system",
  stopsMax: 4,
  reasoningBack: ["reasoning_content"],
  drop: ["perf_metrics", "raw_output", "token_ids", "prompt_token_ids"],
};
