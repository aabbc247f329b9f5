import type { Answer, Bytes } from "./ask.ts";

/** The next piece of a body as a promise; `undefined` at its end. */
export function readPiece(answer: Pick<Answer, "take">): Promise<Bytes | undefined> {
  return new Promise((resolve, reject) => {
    const bytes = answer.take({ onPiece: resolve, onFailure: reject });
    if (bytes !== undefined) resolve(bytes);
  });
}
