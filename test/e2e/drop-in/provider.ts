/** A provider of OpenAI's shape on loopback, which answers at once, or holds its streams until it is told to go on. */
export interface LoopbackProvider {
  readonly baseUrl: string;
  /** From now on streams stop after their first words. Returns what lets them, and all after them, go on. */
  hold(): () => void;
  stop(): Promise<void>;
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

export function startProvider(): LoopbackProvider {
  let loadShedder: Promise<void> | undefined;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    async fetch(request) {
      const { model, stream } = (await request.json()) as { model: string; stream?: boolean };
      if (stream === true)
        return new Response(pieces(model, loadShedder), { headers: { "content-type": "text/event-stream" } });
      const message = { role: "assistant", content: `Hello from ${model}` };
      return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    },
  });
  return {
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    hold() {
      let open = () => undefined as unknown;
      loadShedder = new Promise<void>((resolve) => {
        open = () => {
          loadShedder = undefined;
          resolve();
        };
      });
      return open;
    },
    stop: () => server.stop(true),
  };
}

function pieces(model: string, loadShedder: Promise<void> | undefined): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const piece = (delta: object, finish_reason: string | null = null) =>
    encoder.encode(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(piece({ role: "assistant", content: `Hello from ${model}` }));
      await loadShedder;
      controller.enqueue(piece({ content: "!" }));
      controller.enqueue(piece({}, "stop"));
      controller.enqueue(encoder.encode(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`));
      controller.close();
    },
  });
}
