/** A part of a prompt, in the order in which a provider reads it. */
export interface PromptBlock {
  /** All that counts of it, without its mark. */
  text: string;
  isMarked: boolean;
}

/** What a provider reports of a prompt, in its own counts of tokens. */
export interface PromptUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
}

const marksMax = 4;
/** It looks for what it kept at the block with a mark, and at so many in front of it. */
const lookBackBlocks = 20;
/** How long a prefix is kept after it was last written or read. */
const keptMs = 300_000;
const charsPerToken = 4;

interface PromptCacheOptions {
  /** A shorter prefix is not kept, whatever is marked; default 1,024. */
  keptTokensMin?: number;
  /** Absent: a clock that stands. */
  now?: () => number;
}

/**
 * Simulates the prompt cache of a provider that keeps exact prefixes for five minutes, and those alone that are marked.
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export class PromptCache {
  /** Until when each prefix is kept. */
  readonly #kept = new Map<string, number>();
  readonly #keptTokensMin: number;
  readonly #now: () => number;
  /** What it reported, prompt by prompt. */
  readonly reports: PromptUsage[] = [];

  constructor({ keptTokensMin = 1024, now = () => 0 }: PromptCacheOptions = {}) {
    this.#keptTokensMin = keptTokensMin;
    this.#now = now;
  }

  /** @throws {RangeError} With the provider's words for too many marks. */
  take(blocks: readonly PromptBlock[]): PromptUsage {
    const marks = blocks.flatMap(({ isMarked }, at) => (isMarked ? at : []));
    if (marks.length > marksMax) {
      throw new RangeError(
        `A maximum of ${marksMax} blocks with cache_control may be provided. Found ${marks.length}.`,
      );
    }
    const prefixes: { key: string; tokens: number }[] = [];
    let chars = 0;
    const hash = new Bun.CryptoHasher("sha256");
    for (const { text } of blocks) {
      hash.update(text).update("\0");
      chars += text.length;
      prefixes.push({ key: hash.copy().digest("hex"), tokens: Math.ceil(chars / charsPerToken) });
    }
    const nowMs = this.#now();
    const isRead = (at: number) => (this.#kept.get(prefixes[at]?.key ?? "") ?? -1) >= nowMs;
    const found = marks.flatMap((mark) => {
      for (let at = mark; at >= Math.max(0, mark - lookBackBlocks); at--) if (isRead(at)) return at;
      return [];
    });
    const read = Math.max(0, ...found.map((at) => prefixes[at]?.tokens ?? 0));
    for (const at of found) this.#kept.set(prefixes[at]?.key ?? "", nowMs + keptMs);
    let marked = read;
    for (const mark of marks) {
      const { key = "", tokens = 0 } = prefixes[mark] ?? {};
      if (tokens < this.#keptTokensMin) continue;
      this.#kept.set(key, nowMs + keptMs);
      marked = Math.max(marked, tokens);
    }
    const report = {
      input_tokens: (prefixes.at(-1)?.tokens ?? 0) - marked,
      cache_creation_input_tokens: marked - read,
      cache_read_input_tokens: read,
    };
    this.reports.push(report);
    return report;
  }

  /** The share of the prompt before that was read, of each prompt but the first. */
  shares(): number[] {
    return this.reports.slice(1).map(({ cache_read_input_tokens: read }, index) => {
      const before = this.reports[index] as PromptUsage;
      return read / (before.input_tokens + before.cache_creation_input_tokens + before.cache_read_input_tokens);
    });
  }
}

type Json = Record<string, unknown>;
const listOf = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);

function toBlock(value: Json, holds = ""): PromptBlock {
  const { cache_control: mark, ...block } = value;
  return { text: holds + JSON.stringify(block), isMarked: mark !== undefined };
}

/** The blocks of a body of `POST /messages`: a mark on the body is one on the last of them. */
export function readMessagesPrompt({ tools, system, messages, cache_control: mark }: Json): PromptBlock[] {
  const blocks = [
    ...listOf(tools).map((tool) => toBlock(tool)),
    ...(typeof system === "string" ? [toBlock({ text: system })] : listOf(system).map((block) => toBlock(block))),
    ...listOf(messages).flatMap(({ role, content }) =>
      typeof content === "string"
        ? [toBlock({ text: content }, `${role} `)]
        : listOf(content).map((block) => toBlock(block, `${role} `)),
    ),
  ];
  return blocks.map((block, at) =>
    mark !== undefined && at === blocks.length - 1 ? { ...block, isMarked: true } : block,
  );
}

/** The blocks of a body of Bedrock's Converse, whose marks are blocks of their own. */
export function readConversePrompt({ toolConfig, system, messages }: Json): PromptBlock[] {
  const tools = listOf((toolConfig as Json | undefined)?.tools);
  const turns = listOf(messages).flatMap(({ role, content }) => listOf(content).map((block) => ({ role, ...block })));
  const blocks: PromptBlock[] = [];
  for (const block of [...tools, ...listOf(system), ...turns]) {
    const last = blocks.at(-1);
    if (!("cachePoint" in block)) blocks.push(toBlock(block));
    else if (last !== undefined) last.isMarked = true;
  }
  return blocks;
}

/** The blocks of a body of `POST /chat/completions` with Anthropic's marks. */
export function readChatPrompt({ tools, messages }: Json): PromptBlock[] {
  return [
    ...listOf(tools).map((tool) => toBlock(tool)),
    ...listOf(messages).flatMap(({ content, cache_control: mark, ...message }) => {
      const parts = Array.isArray(content) ? content : [{ type: "text", text: content }];
      const blocks = parts.map((part: Json) => toBlock(part, `${message.role} `));
      if (message.tool_calls !== undefined) blocks.push(toBlock(message));
      return blocks.map((block, at) =>
        mark !== undefined && at === blocks.length - 1 ? { ...block, isMarked: true } : block,
      );
    }),
  ];
}
