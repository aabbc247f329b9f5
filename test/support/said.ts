/** What a chat answer says, apart from how it was sent: for holding what came out against what went in. */
export interface Said {
  choices: SaidChoice[];
  usage: SaidUsage | undefined;
}

export interface SaidChoice {
  text: string;
  refusal: string;
  tools: { id: string; name: string; arguments: string }[];
  function: { name: string; arguments: string } | undefined;
  finish: string | null;
}

export interface SaidUsage {
  prompt: number;
  completion: number;
  total: number;
  cached: number | undefined;
  /** Tokens written into a cache, where the provider bills them apart. */
  written: number | undefined;
  /** Those of them that are kept for an hour. */
  writtenForHour?: number | undefined;
  reasoning: number | undefined;
}

interface WireUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: {
    cached_tokens?: number;
    cache_write_tokens?: number;
    cache_write_1h_tokens?: number;
  } | null;
  completion_tokens_details?: { reasoning_tokens?: number } | null;
}

interface WireToolCall {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface WireMessage {
  content?: string | null;
  refusal?: string | null;
  tool_calls?: WireToolCall[] | null;
  function_call?: { name?: string; arguments?: string } | null;
}

/** A completion as it came over the wire, of the gateway or of a provider of this shape. */
export interface WireCompletion {
  choices: { index: number; message: WireMessage; finish_reason: string | null }[];
  usage?: WireUsage | null;
}

/** A chunk as it came over the wire; Groq puts its usage into `x_groq`. */
export interface WireChunk {
  choices?: { index: number; delta: WireMessage; finish_reason?: string | null }[];
  usage?: WireUsage | null;
  x_groq?: { usage?: WireUsage } | null;
  error?: { message: string };
}

/** What a whole answer says. */
export function saidBy(completion: WireCompletion): Said {
  const choices = completion.choices.map(({ message, finish_reason }) => {
    const choice = emptyChoice();
    add(choice, { ...message, tool_calls: message.tool_calls?.map((call, index) => ({ index, ...call })) ?? null });
    choice.finish = finish_reason;
    return choice;
  });
  return { choices, usage: completion.usage ? usageOf(completion.usage) : undefined };
}

/** What the chunks of a stream say together; the last usage stands. */
export function saidByChunks(chunks: WireChunk[]): Said {
  const choices: SaidChoice[] = [];
  let usage: SaidUsage | undefined;
  for (const chunk of chunks) {
    for (const { index, delta, finish_reason } of chunk.choices ?? []) {
      choices[index] ??= emptyChoice();
      add(choices[index], delta);
      if (finish_reason) choices[index].finish = finish_reason;
    }
    const reported = chunk.usage ?? chunk.x_groq?.usage;
    if (reported) usage = usageOf(reported);
  }
  return { choices, usage };
}

function emptyChoice(): SaidChoice {
  return { text: "", refusal: "", tools: [], function: undefined, finish: null };
}

function add(choice: SaidChoice, message: WireMessage): void {
  choice.text += message.content ?? "";
  choice.refusal += message.refusal ?? "";
  for (const call of message.tool_calls ?? []) {
    const index = call.index ?? 0;
    choice.tools[index] ??= { id: "", name: "", arguments: "" };
    const tool = choice.tools[index];
    tool.id += call.id ?? "";
    tool.name += call.function?.name ?? "";
    tool.arguments += call.function?.arguments ?? "";
  }
  if (message.function_call) {
    choice.function ??= { name: "", arguments: "" };
    choice.function.name += message.function_call.name ?? "";
    choice.function.arguments += message.function_call.arguments ?? "";
  }
}

function usageOf(usage: WireUsage): SaidUsage {
  return {
    prompt: usage.prompt_tokens,
    completion: usage.completion_tokens,
    total: usage.total_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens || undefined,
    written: usage.prompt_tokens_details?.cache_write_tokens || undefined,
    writtenForHour: usage.prompt_tokens_details?.cache_write_1h_tokens || undefined,
    reasoning: usage.completion_tokens_details?.reasoning_tokens || undefined,
  };
}
