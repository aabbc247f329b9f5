import { freePort } from "./free-port.ts";

/** A server of an operator's own, in the manner of vLLM and llama.cpp: it is away, loads, or serves the models that it lists. */
export async function createModelServer(...ids: string[]) {
  const port = await freePort();
  let server: ReturnType<typeof Bun.serve> | undefined;
  const state = { models: ids, isLoading: false, listings: 0 };
  const fetch = async (request: Request): Promise<Response> => {
    const isListing = new URL(request.url).pathname === "/v1/models";
    if (isListing) state.listings++;
    // As llama.cpp answers everything while it loads a model.
    if (state.isLoading) {
      const error = { code: 503, message: "Loading model", type: "unavailable_error" };
      return Response.json({ error }, { status: 503 });
    }
    if (isListing) {
      const data = state.models.map((id) => ({ id, object: "model", created: 1_700_000_000, owned_by: "vllm" }));
      return Response.json({ object: "list", data });
    }
    const { model } = (await request.json()) as { model: string };
    if (!state.models.includes(model)) {
      const error = { message: `The model \`${model}\` does not exist.`, type: "NotFoundError", code: 404 };
      return Response.json({ error }, { status: 404 });
    }
    return Response.json({
      id: "1",
      object: "chat.completion",
      created: 1,
      model,
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "OK" } }],
      usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
    });
  };
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    state,
    start() {
      server = Bun.serve({ hostname: "127.0.0.1", port, fetch });
    },
    async stop() {
      await server?.stop(true);
      server = undefined;
    },
  };
}
