/** What a model can do; each is one endpoint and one handler of a plugin. */
export const capabilities = ["chat", "embed", "image", "transcribe", "speak"] as const;

export type Capability = (typeof capabilities)[number];

/** The endpoint of each capability, below the base path. */
export const endpointOf: Record<Capability, string> = {
  chat: "/chat/completions",
  embed: "/embeddings",
  image: "/images/generations",
  transcribe: "/audio/transcriptions",
  speak: "/audio/speech",
};
