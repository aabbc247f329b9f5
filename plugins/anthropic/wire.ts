/** A block of a message, ours or the provider's: each kind has some of these. https://platform.claude.com/docs/en/api/messages */
export interface Block {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: object;
  tool_use_id?: string;
  content?: Block[] | undefined;
  source?: Record<string, string>;
  title?: string | undefined;
  cache_control?: { type: "ephemeral" };
}

export interface Turn {
  role: "user" | "assistant";
  content: Block[];
}

export interface Stop {
  stop_reason?: string | null;
  stop_details?: { explanation?: string | null } | null;
}

export interface MessageUsage {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
  output_tokens_details?: { thinking_tokens?: number };
}

export interface MessageAnswer extends Stop {
  id?: string;
  content?: Block[];
  usage?: MessageUsage;
}

/** How an answer is to be read, decided by what was asked. */
export interface Reading {
  /** The tool that is forced to get JSON: its arguments are the content. */
  jsonTool?: string | undefined;
  /** Whether the content is JSON that may come in a code fence. */
  fenced: boolean;
  /** Whether the caller asked with `functions` and wants a `function_call` back. */
  legacy: boolean;
}

/** Takes what a translation had to leave out or change. */
export type Note = (sentence: string) => void;
