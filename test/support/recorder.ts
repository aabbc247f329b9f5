/** A request that a client made, and the status it got. */
export interface RecordedCall {
  method: string;
  path: string;
  headers: Record<string, string>;
  text: string;
  status: number | undefined;
  /** `x-request-id` of the answer. */
  requestId: string | undefined;
}

/** Stands before a gateway and keeps what a client asks of it. */
export interface Recorder {
  origin: string;
  readonly calls: RecordedCall[];
  /** So many spaces are put behind each body. */
  padding: number;
  /** Called with each request as soon as it is there. */
  onCall: ((count: number) => void) | undefined;
  stop(): Promise<void>;
}

export function startRecorder(target: string): Recorder {
  const calls: RecordedCall[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const url = new URL(request.url);
      const text = await request.text();
      const headers = Object.fromEntries(request.headers);
      const call: RecordedCall = {
        method: request.method,
        path: url.pathname + url.search,
        headers,
        text,
        status: undefined,
        requestId: undefined,
      };
      calls.push(call);
      recorder.onCall?.(calls.filter(({ method }) => method === "POST").length);
      // Also what a proxy keeps to itself that knows no WebSockets.
      const { host: _, connection: __, "content-length": ___, upgrade: ____, ...kept } = headers;
      const { method } = request;
      const padded = method === "POST" ? call.text + " ".repeat(recorder.padding) : null;
      // Its bytes are passed on as they are, with the header that says how they are compressed.
      const answer = await fetch(target + call.path, { method, headers: kept, body: padded, decompress: false });
      call.status = answer.status;
      call.requestId = answer.headers.get("x-request-id") ?? undefined;
      return answer;
    },
  });
  const recorder: Recorder = {
    origin: `http://127.0.0.1:${server.port}`,
    calls,
    padding: 0,
    onCall: undefined,
    stop: () => server.stop(true),
  };
  return recorder;
}
