const openTag = "<think>";
const closeTag = "</think>";

/** An answer's text with the model's thinking taken out of it. Either may be empty. */
export interface SplitText {
  content: string;
  reasoning: string;
}

/**
 * Takes a leading `<think>…</think>` out of a whole answer. Only a tag at the beginning (white space aside) counts, so
 * that text about the tag stays as it is. Thinking that was never closed is all reasoning.
 *
 * @example
 * splitReasoningTags("<think>Hm</think>Yes"); // => { content: "Yes", reasoning: "Hm" }
 */
export function splitReasoningTags(text: string): SplitText {
  const splitter = new ReasoningTagSplitter();
  const head = splitter.push(text);
  const tail = splitter.flush();
  return { content: head.content + tail.content, reasoning: head.reasoning + tail.reasoning };
}

/**
 * {@link splitReasoningTags} for an answer in pieces. The tags may be cut anywhere; the pieces together give the same.
 *
 * @example
 * const splitter = new ReasoningTagSplitter();
 * const pieces = ["<thi", "nk>Hm</think>Yes"].map((text) => splitter.push(text));
 * pieces.map(({ content, reasoning }) => [content, reasoning]); // => [["", ""], ["Yes", "Hm"]]
 */
export class ReasoningTagSplitter {
  #state: "undecided" | "thinking" | "answering" = "undecided";
  #held = "";
  /** White space right after a tag belongs to neither side. */
  #trimming = false;

  /** Takes the next piece. Text that could be the beginning of a tag is held back until it is known. */
  push(text: string): SplitText {
    const split: SplitText = { content: "", reasoning: "" };
    let rest = this.#held + text;
    this.#held = "";
    if (this.#state === "undecided") rest = this.#decide(rest);
    if (this.#state === "thinking") rest = this.#think(rest, split);
    if (this.#state === "answering") split.content += this.#trim(rest);
    return split;
  }

  /** Says that no more text comes, and gives what was held back. */
  flush(): SplitText {
    const held = this.#held;
    this.#held = "";
    return this.#state === "thinking" ? { content: "", reasoning: held } : { content: held, reasoning: "" };
  }

  #decide(text: string): string {
    const first = text.trimStart();
    if (first.startsWith(openTag)) {
      this.#state = "thinking";
      this.#trimming = true;
      return first.slice(openTag.length);
    }
    if (openTag.startsWith(first)) {
      this.#held = text;
      return "";
    }
    this.#state = "answering";
    return text;
  }

  #think(text: string, split: SplitText): string {
    const thought = this.#trim(text);
    const end = thought.indexOf(closeTag);
    if (end !== -1) {
      split.reasoning += thought.slice(0, end);
      this.#state = "answering";
      this.#trimming = true;
      return thought.slice(end + closeTag.length);
    }
    const safe = thought.length - heldCharacters(thought);
    split.reasoning += thought.slice(0, safe);
    this.#held = thought.slice(safe);
    return "";
  }

  #trim(text: string): string {
    if (!this.#trimming) return text;
    const trimmed = text.trimStart();
    if (trimmed !== "") this.#trimming = false;
    return trimmed;
  }
}

/** How many characters at the end could be the beginning of the closing tag. */
function heldCharacters(text: string): number {
  for (let count = Math.min(closeTag.length - 1, text.length); count > 0; count--) {
    if (closeTag.startsWith(text.slice(-count))) return count;
  }
  return 0;
}
