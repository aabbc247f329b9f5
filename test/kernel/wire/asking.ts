import { UpstreamFault } from "../../../src/contract/index.ts";
import type { Answer, Ask, Question } from "../../../src/kernel/wire/ask.ts";
import { dialByBun } from "../../../src/kernel/wire/bun-line.bun.ts";
import type { Dial } from "../../../src/kernel/wire/line.ts";
import { dialByNode } from "../../../src/kernel/wire/node-line.ts";
import { readPiece } from "../../../src/kernel/wire/read-piece.ts";
import { errorOf } from "../../support/error-of.ts";

/** Both ways to a socket: what is true of the client is true by each. */
export const dials: [name: string, dial: Dial][] = [
  ["node:net", dialByNode],
  ["Bun's sockets", dialByBun],
];

/** A question to a base URL, with everything else as a test does not care. */
export function questionTo(baseUrl: string, changes: Partial<Question> = {}): Question {
  const signal = new AbortController().signal;
  return { baseUrl, path: "/chat", headers: {}, more: undefined, body: "{}", signal, ...changes };
}

/** All that is left of an answer, as text. */
export async function textOf(answer: Answer): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = await readPiece(answer); bytes !== undefined; bytes = await readPiece(answer)) {
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

/** Asks and reads to the end. */
export const askText = async (ask: Ask, baseUrl: string, changes: Partial<Question> = {}) =>
  textOf(await ask(questionTo(baseUrl, changes)));

/** What a promise was rejected with. @throws When it was not, or with something else than a fault. */
export async function faultOf(promise: Promise<unknown>): Promise<UpstreamFault> {
  const error = await errorOf(promise);
  if (error instanceof UpstreamFault) return error;
  throw new Error("Expected an UpstreamFault", { cause: error });
}

/** Waits until something holds that other events bring about. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}
