import type { ChatOptions } from "modelgate/plugin";

/** Its answers name their sources in `citations` and `search_results`, which clients may want. https://docs.perplexity.ai/api-reference */
export const chat: ChatOptions = {
  fields: `max_tokens max_completion_tokens temperature top_p presence_penalty frequency_penalty response_format
    reasoning_effort search_domain_filter search_recency_filter return_images return_related_questions`.split(/\s+/),
  rename: { max_completion_tokens: "max_tokens" },
  systemRole: "system",
  think: true,
  streamOptions: false,
  drop: ["cost", "search_context_size", "num_search_queries", "citation_tokens"],
};
