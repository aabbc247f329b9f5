import type { FakeFetch } from "./support.ts";

export interface CheckInput {
  url: string;
  init: RequestInit;
  /** What stood in the `authorization` header. */
  key: string | undefined;
  body: unknown;
}

type Answer = Response | Error | ((asked: CheckInput) => Response | Promise<Response>);

/** A network that answers in turn what it is told to, the last for ever, and remembers what it was asked. */
export function fetchOf(...answers: Answer[]): FakeFetch & { asked: CheckInput[] } {
  const asked: CheckInput[] = [];
  const fetch: FakeFetch = async (url, init) => {
    const headers = new Headers(init.headers);
    const body = typeof init.body === "string" ? JSON.parse(init.body) : init.body;
    const request = { url, init, key: headers.get("authorization")?.replace("Bearer ", ""), body };
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(request);
    init.signal?.throwIfAborted();
    if (answer === undefined) throw new Error("No answer was prepared");
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? (answer.clone() as Response) : answer(request);
  };
  return Object.assign(fetch, { asked });
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

/** A refusal in OpenAI's shape. */
export const refused = (status: number, error: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  json(
    { error: { message: `Refused with ${status}`, type: null, param: null, code: null, ...error } },
    status,
    headers,
  );

/** What `fetch` is rejected with when a connection fails. */
export const failedBy = (code: string) => Object.assign(new TypeError(`${code}: Unable to connect`), { code });

/** Never answers; ends as fetch does when the call is cut. */
export const silence = ({ init }: CheckInput) =>
  new Promise<Response>((_, reject) => {
    init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  });

/** A body that is fed by hand, and breaks off when the call is cut. */
export function liveBody(init: RequestInit) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const state = { cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel() {
      state.cancelled = true;
    },
  });
  init.signal?.addEventListener("abort", () => controller?.error(init.signal?.reason));
  return {
    body,
    state,
    push: (text: string) => controller?.enqueue(new TextEncoder().encode(text)),
    close: () => controller?.close(),
    fail: () => controller?.error(failedBy("ECONNRESET")),
  };
}

/** Lets everything run that can run now. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));
