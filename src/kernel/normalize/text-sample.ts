import { countedCharactersMax } from "./tokenizer.ts";

/** Texts are kept or left out in blocks of this many characters. */
const blockCharacters = 400;

/**
 * A text that comes in pieces, of which blocks are kept that are spread evenly over all of it: as much as is tokenized. Which
 * they are is drawn at random, so that a text cannot be dense where nobody looks.
 */
export class TextSample {
  #blocks: string[] = [];
  /** Of so many blocks one is kept. */
  #stride = 1;
  #phase = 0;
  /** The block that has begun. */
  #open = "";
  #openIndex = 0;
  #length = 0;

  /** Of the whole text, in characters. */
  get length(): number {
    return this.#length;
  }

  /** The blocks that were kept; the whole text as long as that is not longer than what is tokenized. */
  get text(): string {
    return this.#blocks.join("") + (this.#isKept(this.#openIndex) ? this.#open : "");
  }

  add(piece: string): void {
    this.#length += piece.length;
    for (let at = 0; at < piece.length; ) {
      const part = piece.slice(at, at + blockCharacters - this.#open.length);
      this.#open += part;
      at += part.length;
      if (this.#open.length === blockCharacters) this.#close();
    }
  }

  #close(): void {
    if (this.#isKept(this.#openIndex)) this.#blocks.push(this.#open);
    this.#open = "";
    this.#openIndex++;
    if (this.#blocks.length * blockCharacters < countedCharactersMax) return;
    const kept = Math.random() < 0.5 ? 0 : 1;
    this.#blocks = this.#blocks.filter((_, index) => index % 2 === kept);
    this.#phase += kept * this.#stride;
    this.#stride *= 2;
  }

  #isKept(index: number): boolean {
    return index % this.#stride === this.#phase;
  }
}
