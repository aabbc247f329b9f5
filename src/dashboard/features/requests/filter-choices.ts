/** Choices of the filter by protocol: every protocol that clients speak, by its name in the request log. */
export const protocols = [
  ["", "Any protocol"],
  ["chat", "Chat completions"],
  ["completions", "Legacy completions"],
  ["responses", "Responses"],
  ["messages", "Messages"],
  ["decisions", "Decisions"],
] as const;

/** The HTTP statuses that requests end with, and 499 for those that their clients left. */
export const exactStatuses = [
  ...["400", "401", "403", "404", "408", "409", "413", "415", "429", "499", "500", "503"],
] as const;
