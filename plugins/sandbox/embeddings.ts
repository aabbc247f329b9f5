import type { Handler } from "modelgate/plugin";
import { applyFaults, failWhole, readFaults } from "./faults.ts";
import { hashText, toPieces } from "./reply.ts";

const dimensionsDefault = 1536;
/** Places of the vector that each word moves: enough that two words rarely move the same places. */
const placesPerWord = 8;

/** Makes unit vectors from the words of a text: texts that share words are near each other. */
export const embeddings: Handler<"embeddings"> = async ({ request, model, signal }) => {
  const inputs = typeof request.input === "string" ? [request.input] : request.input;
  const { faults } = readFaults(inputs.join("\n"));
  await applyFaults(faults, signal);
  failWhole(faults);
  const dimensions = request.dimensions ?? model.dimensions?.default ?? dimensionsDefault;
  const vectors = inputs.map((text) => toVector(text, dimensions));
  if (faults.usageMissing) return { vectors };
  let tokens = 0;
  for (const text of inputs) tokens += Math.max(1, toPieces(text).length);
  return { vectors, usage: { prompt_tokens: tokens } };
};

function toVector(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text];
  for (const word of words) {
    for (let place = 0; place < placesPerWord; place++) {
      const hash = hashText(`${word}/${place}`);
      const at = (hash >>> 1) % dimensions;
      vector[at] = (vector[at] as number) + (hash % 2 === 0 ? 1 : -1);
    }
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector.with(0, 1) : vector.map((value) => value / length);
}
