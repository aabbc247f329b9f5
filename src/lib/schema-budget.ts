import { badRequest } from "../contract/index.ts";

const stepsMax = 20_000;
/** So many characters that are compared or written out take as long as one step. */
const charactersPerStep = 100;

/**
 * The steps that all JSON schemas of one request may take to be rewritten, counted after their references are put in
 * place. A few kilobytes of references can unfold to any size, so the work is bounded by what comes out of a text, not by its length.
 *
 * @example
 * const budget = new SchemaBudget();
 * const reduced = [{ const: "a" }, { const: "b" }].map((schema) => reduceSchema(schema, strictSubset, "tools", budget).schema);
 * reduced.map((schema) => schema.enum); // => [["a"], ["b"]]
 */
export class SchemaBudget {
  #steps = 0;
  /** A value that references lead to a thousand times is written as text once. */
  readonly #texts = new WeakMap<object, string>();

  /** @throws {GatewayError} `invalid_request` beyond 20 000 steps. */
  pay(steps: number, param: string | undefined): void {
    this.#steps += steps;
    if (this.#steps <= stepsMax) return;
    const counts = `keywords, names, values and ${charactersPerStep} characters of text counting as one each`;
    const sentence = `The JSON schemas of this request unfold to more than ${stepsMax} members, ${counts}: send smaller ones, with fewer references`;
    throw badRequest(sentence, param);
  }

  /** The steps that it takes to copy or compare a value: one for each of a list, and those of its text. */
  weigh(value: unknown): number {
    const count = Array.isArray(value) ? value.length : 0;
    const characters =
      typeof value === "string" ? value.length : typeof value === "object" ? this.textOf(value).length : 0;
    return count + Math.floor(characters / charactersPerStep);
  }

  /** JSON of a value: what two values are compared by. */
  textOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    let text = this.#texts.get(value);
    if (text === undefined) {
      text = JSON.stringify(value);
      this.#texts.set(value, text);
    }
    return text;
  }
}
