/** https://ai.google.dev/api/generate-content: the members that are written and read here. */
export interface Part {
  text?: string;
  /** Marks a summary of the model's thinking. */
  thought?: boolean;
  thoughtSignature?: string | undefined;
  inlineData?: { mimeType: string; data: string };
  functionCall?: { name: string; args?: Record<string, unknown>; id?: string };
  functionResponse?: { name: string; response: Record<string, unknown> };
}

export interface Content {
  role: "user" | "model";
  parts: Part[];
}

/** What is undefined is not sent. */
export interface GenerateBody {
  contents: Content[];
  systemInstruction?: { parts: Part[] } | undefined;
  tools?: { functionDeclarations: { name: string; [field: string]: unknown }[] }[];
  toolConfig?: { functionCallingConfig: { mode: string; allowedFunctionNames?: string[] | undefined } } | undefined;
  generationConfig: Record<string, unknown>;
}

export interface Candidate {
  index?: number;
  content?: { parts?: Part[] };
  finishReason?: string;
  finishMessage?: string;
  logprobsResult?: { chosenCandidates?: Logprob[]; topCandidates?: { candidates?: Logprob[] }[] };
}

export interface Logprob {
  token?: string;
  logProbability?: number;
}

export interface GenerateAnswer {
  candidates?: Candidate[];
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string };
  usageMetadata?: { [field: `${string}TokenCount`]: number | undefined };
  error?: unknown;
}

export type Note = (sentence: string) => void;
