/** A provider on the loopback that speaks OpenAI's protocol and knows some keys. */
export function startProvider(...keys: string[]) {
  const known = new Set(keys);
  const asked: string[] = [];
  const answer = { status: 200, delayMs: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const key = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
      asked.push(key);
      const { model } = (await request.json()) as { model: string };
      if (!known.has(key)) return Response.json({ error: { message: `Incorrect API key: ${key}` } }, { status: 401 });
      if (answer.delayMs > 0) await Bun.sleep(answer.delayMs);
      if (answer.status !== 200) return Response.json({ error: { message: "broken" } }, { status: answer.status });
      return Response.json({
        id: "1",
        object: "chat.completion",
        created: 1,
        model,
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "OK" } }],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      });
    },
  });
  return { baseUrl: `http://127.0.0.1:${server.port}/v1`, known, asked, answer, stop: () => server.stop(true) };
}
