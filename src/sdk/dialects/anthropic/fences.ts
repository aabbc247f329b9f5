/** How many characters may stand before the JSON for a fence among them to be taken off. */
const introductionCharactersMax = 500;

/**
 * Takes the code fence off an answer that is to be bare JSON, and the words around it. The text may come in pieces, cut
 * anywhere; the pieces together give the same as the whole. Text without a fence before its JSON stays as it is.
 */
export class FenceStripper {
  #state: "before" | "bare" | "fenced" | "closed" = "before";
  #held = "";

  push(piece: string): string {
    if (this.#state === "bare") return piece;
    if (this.#state === "closed") return "";
    const text = this.#held + piece;
    this.#held = text;
    const start = this.#state === "before" ? text.slice(0, introductionCharactersMax).search(/[{[]/) : 0;
    if (start === -1 && text.length < introductionCharactersMax) return "";
    if (this.#state === "before") this.#state = text.slice(0, Math.max(start, 0)).includes("```") ? "fenced" : "bare";
    if (this.#state === "bare") return text;
    const close = text.indexOf("\n```", start);
    if (close !== -1) this.#state = "closed";
    // What could be the beginning of the closing fence waits. Within JSON no line begins with one.
    let end = close === -1 ? text.length : close;
    while (end > start && close === -1 && text.length - end < 4 && "\n`".includes(text.charAt(end - 1))) end--;
    this.#held = text.slice(end);
    return text.slice(start, end);
  }

  /** Says that no more text comes, and gives what was held back unless it is the closing fence. */
  flush(): string {
    return this.#state === "before" ? this.#held : "";
  }
}
