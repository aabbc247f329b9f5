import * as answers from "./answer.ts";

/**
 * Reads what providers answer that speak Google's `generateContent`, as the Gemini API and Vertex AI do: candidates,
 * reasons to end, refusals and usage.
 *
 * @example
 * generateContent.toFinish({ reason: "MAX_TOKENS", text: true, calls: 0 }); // => "length"
 */
export const generateContent: typeof answers = answers;
