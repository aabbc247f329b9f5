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

export interface FunctionDeclaration {
  name: string;
  description?: string | undefined;
  parameters?: Record<string, unknown> | undefined;
}

/** What is undefined is not sent. */
export interface GenerateBody {
  contents: Content[];
  systemInstruction?: { parts: Part[] } | undefined;
  tools?: { functionDeclarations: FunctionDeclaration[] }[];
  toolConfig?: { functionCallingConfig: { mode: string; allowedFunctionNames?: string[] | undefined } } | undefined;
  generationConfig: Record<string, unknown>;
}

export interface Logprob {
  token?: string;
  logProbability?: number;
}

export interface Candidate {
  index?: number;
  content?: { parts?: Part[] };
  finishReason?: string;
  finishMessage?: string;
  logprobsResult?: { chosenCandidates?: Logprob[]; topCandidates?: { candidates?: Logprob[] }[] };
}

export interface GenerateAnswer {
  candidates?: Candidate[];
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string };
  usageMetadata?: Partial<Record<`${"prompt" | "toolUsePrompt" | "candidates" | "thoughts"}TokenCount`, number>> & {
    cachedContentTokenCount?: number;
  };
  error?: unknown;
}

export type Note = (sentence: string) => void;
