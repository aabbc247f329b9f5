/**
 * Takes the code fence off an answer that is to be bare JSON, and the words around it. The text may come in pieces, cut
 * anywhere; the pieces together give the same as the whole. Text without a fence before its JSON stays as it is.
 */
export class FenceStripper {
  #state: "before" | "bare" | "fenced" = "before";
  #held = "";

  push(piece: string): string {
    if (this.#state === "bare") return piece;
    let text = this.#held + piece;
    this.#held = text;
    if (this.#state === "before") {
      const start = text.search(/[{[]/);
      if (start === -1) return "";
      this.#state = text.slice(0, start).includes("```") ? "fenced" : "bare";
      if (this.#state === "bare") return text;
      text = text.slice(start);
    }
    // No line end stands before a fence within JSON; white space and backticks may be the beginning of one.
    const close = text.indexOf("\n```");
    let end = close === -1 ? text.length : close;
    while (end > 0 && "` \n\r\t".includes(text.charAt(end - 1))) end--;
    this.#held = text.slice(end);
    return text.slice(0, end);
  }

  /** Says that no more text comes, and gives what was held back unless it is the closing fence. */
  flush(): string {
    return this.#state === "before" ? this.#held : "";
  }
}
