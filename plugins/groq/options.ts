import type { ChatOptions } from "modelgate/plugin";

/** Fields that Groq rejects, renames or adds. https://console.groq.com/docs/openai */
export const chat: ChatOptions = {
  omit: `logprobs top_logprobs logit_bias metadata store verbosity modalities moderation prompt_cache_key
    prompt_cache_retention prompt_cache_options safety_identifier`.split(/\s+/),
  messageOmit: ["name", "refusal", "annotations", "audio", "reasoning_content", "reasoning", "reasoning_details"],
  values: { service_tier: { default: "on_demand", priority: "performance", scale: null, fast: null } },
  systemRole: "system",
  stopsMax: 4,
  streamsSchemas: false,
  usageIn: "x_groq",
  think: true,
  drop: [
    "x_groq",
    "usage_breakdown",
    "executed_tools",
    "channel",
    "queue_time",
    "prompt_time",
    "completion_time",
    "total_time",
  ],
};
