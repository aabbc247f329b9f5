import type { AnswerStream, Call, ChatChunk, Model, ServerEvent, Upstream } from "../../../src/provider/index.ts";
import { chunksOf, isStream, readEvents } from "../../support/chat-streams.ts";

/** What a handler asked of its upstream. */
export interface CheckInput {
  method: keyof Upstream;
  path: string;
  body: Record<string, unknown>;
  form?: FormData;
}

export const plainModel: Model = {
  id: "acme-1",
  upstreamId: "acme-one",
  capability: "chat",
  premium: false,
  ownedBy: "acme",
  created: 0,
};

type Answers = { [Method in keyof Upstream]?: unknown };

/** A call over an upstream that answers what it is told to, and keeps what it was asked. */
export function fakeCall<Request>(request: Request, answers: Answers = {}, model: Model = plainModel) {
  const asked: CheckInput[] = [];
  const notes: string[] = [];
  const answer = (method: keyof Upstream) => async (path: string, body?: unknown) => {
    const form = body instanceof FormData ? { form: body } : {};
    asked.push({ method, path, body: { ...(body as Record<string, unknown>) }, ...form });
    const value = answers[method];
    if (value instanceof Error) throw value;
    return typeof value === "function" ? value(path) : value;
  };
  const upstream = Object.fromEntries(
    (["json", "form", "bytes", "events", "download"] as const).map((method) => [method, answer(method)]),
  ) as unknown as Upstream;
  const warn = (sentence: string) => {
    notes.push(sentence);
  };
  const call: Call<Request> = { id: "call-1", request, model, signal: new AbortController().signal, upstream, warn };
  return { call, asked, notes };
}

/** Bytes as they would come over the wire, in the pieces given. */
export async function* piecesOf(...pieces: (string | Uint8Array)[]): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (const piece of pieces) yield new Uint8Array(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
}

/** The events of an SSE text. */
export function eventsOf(text: string | Uint8Array): AsyncIterable<ServerEvent> {
  return readEvents(piecesOf(text));
}

/** All that an iterable yields, or the pieces of a stream, and what it threw at its end, if it did. */
export async function drain<Item = ChatChunk>(
  items: AsyncIterable<Item> | AnswerStream<Item>,
): Promise<{ items: Item[]; error: unknown }> {
  const taken: Item[] = [];
  try {
    for await (const item of isStream<Item>(items) ? chunksOf(items) : items) taken.push(item);
  } catch (error) {
    return { items: taken, error };
  }
  return { items: taken, error: undefined };
}
