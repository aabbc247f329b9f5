import type { PromptBlock } from "./prompt-cache.ts";

const charsPerToken = 4;
/** A shorter prefix is not kept. */
const keptTokensMin = 1024;

export interface CacheReport {
  prompt: number;
  read: number;
  written: number;
}

/** The prompt cache of a provider: exact prefixes that end at a mark, for a while, apart for each scope. */
export class ExactCache {
  readonly #kept = new Map<string, number>();
  readonly #now: () => number;
  readonly #lifetimeMs: number;

  constructor(now: () => number, lifetimeMs: number) {
    this.#now = now;
    this.#lifetimeMs = lifetimeMs;
  }

  forget(): void {
    this.#kept.clear();
  }

  /** @param scope What else has to be the same: model, key, settings. */
  take(scope: string, blocks: readonly PromptBlock[]): CacheReport {
    let prefix = scope;
    let [chars, read, marked] = [0, 0, 0];
    for (const { text, isMarked } of blocks) {
      prefix = Bun.hash(`${prefix}\n${text}`).toString();
      chars += text.length;
      const tokens = Math.ceil(chars / charsPerToken);
      if (tokens < keptTokensMin) continue;
      const keptAt = this.#kept.get(prefix);
      const isKept = keptAt !== undefined && this.#now() - keptAt <= this.#lifetimeMs;
      if (isKept) read = tokens;
      if (!isMarked && !isKept) continue;
      marked = tokens;
      this.#kept.set(prefix, this.#now());
    }
    return { prompt: Math.ceil(chars / charsPerToken), read, written: Math.max(0, marked - read) };
  }
}
