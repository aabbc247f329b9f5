import type { ChatOptions } from "modelgate/plugin";

/** https://api-docs.deepseek.com/api/create-chat-completion and /guides/thinking_mode */
export const chat: ChatOptions = {
  systemRole: "system",
  rename: { max_completion_tokens: "max_tokens" },
  omit: ["seed"],
  stopsMax: 16,
  keepsReasoning: true,
  messageFields: ["prefix"],
  drop: ["prompt_cache_hit_tokens", "prompt_cache_miss_tokens"],
};
