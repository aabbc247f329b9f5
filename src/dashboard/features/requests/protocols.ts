/** Choices of the filter by protocol: every protocol that clients speak, by its name in the request log. */
export const protocols = [
  ["", "Any protocol"],
  ["chat", "Chat completions"],
  ["completions", "Legacy completions"],
  ["responses", "Responses"],
  ["messages", "Messages"],
  ["decisions", "Decisions"],
] as const;
