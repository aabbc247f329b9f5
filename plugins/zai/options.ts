import type { ChatOptions } from "modelgate/plugin";

/** https://docs.z.ai/api-reference/llm/chat-completion */
export const chat: ChatOptions = {
  fields: `max_tokens max_completion_tokens temperature top_p do_sample stop tools tool_choice tool_stream
    response_format thinking request_id user_id`.split(/\s+/),
  rename: { max_completion_tokens: "max_tokens" },
  systemRole: "system",
  stopsMax: 1,
  reasoningBack: ["reasoning_content"],
  drop: ["request_id", "web_search"],
};
