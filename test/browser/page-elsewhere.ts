/** The script of a page of another origin: see `page-elsewhere.test.ts`. */
import OpenAI, { APIConnectionError, APIError } from "openai";

async function callGateway(options: { baseURL: string; apiKey: string }) {
  const client = new OpenAI({ ...options, dangerouslyAllowBrowser: true, maxRetries: 0 });
  const request = { model: "famA-4o-mini", messages: [{ role: "user" as const, content: "Say Hello" }] };
  try {
    const { data, response } = await client.chat.completions.create(request).withResponse();
    let stream = "";
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true })) {
      stream += choices[0]?.delta.content ?? "";
    }
    const refusal = await client.chat.completions
      .create({ ...request, model: "nobody" })
      .catch((error: unknown) => (error instanceof APIError ? error.status : String(error)));
    const whole = data.choices[0]?.message.content;
    return { whole, stream, requestId: response.headers.get("x-request-id"), refusal };
  } catch (error) {
    if (error instanceof APIConnectionError) return { failure: error.message };
    throw error;
  }
}

Object.assign(globalThis, { callGateway });
