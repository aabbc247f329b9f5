/**
 * Takes the code fence off an answer that is to be bare JSON, and the words around it. The text may come in pieces, cut
 * anywhere; the pieces together give the same as the whole. Text without a fence before its JSON stays as it is.
 */
export class FenceStripper {
  #held = "";
  #fenced: boolean | undefined;

  push(piece: string): string {
    if (this.#fenced === false) return piece;
    const text = this.#held + piece;
    this.#held = text;
    const start = this.#fenced ? 0 : text.search(/[{[]/);
    if (start === -1) return "";
    this.#fenced ??= text.slice(0, start).includes("```");
    if (!this.#fenced) return text;
    // White space and backticks may be the beginning of the fence. Within JSON no line begins with one.
    const end = start + text.slice(start).search(/[\s`]*(?:\n```.*)?$/s);
    this.#held = text.slice(end);
    return text.slice(start, end);
  }

  /** Says that no more text comes, and gives what was held back unless it is the closing fence. */
  flush(): string {
    return this.#fenced === undefined ? this.#held : "";
  }
}
