import { type Call, type ChatCompletion, type ChatRequest, type ChatStream, openai } from "modelgate/plugin";

/** sarvam-m writes its reasoning into the content; later models have `reasoning_content`, which passes as it is. */
const dialect = openai({ chat: { think: true, systemRole: "system", stopsMax: 4 } });

/** Fields that the dialect leaves out; the handler here sends the same. */
export const omits = dialect.chat?.omits;

/** Chat in OpenAI's dialect, the only endpoint below `/v1`: https://docs.sarvam.ai/api-reference-docs/chat */
export async function chat(call: Call<ChatRequest>): Promise<ChatCompletion | ChatStream> {
  if (dialect.chat === undefined) throw new TypeError("The dialect has no chat");
  return dialect.chat({ ...call, upstream: withPathPrefix(call) });
}

function withPathPrefix({ upstream, request }: Call<ChatRequest>): Call<ChatRequest>["upstream"] {
  // Leaving the field out means medium to the models that think; only an explicit null turns thinking off.
  const turnsOff = request.reasoning_effort === "none";
  const toSend = (body: unknown) => (turnsOff ? { ...(body as object), reasoning_effort: null } : body);
  return {
    baseUrl: upstream.baseUrl,
    json: (path, body, init) => upstream.json(`/v1${path}`, toSend(body), init),
    events: (path, body, init) => upstream.events(`/v1${path}`, toSend(body), init),
    form: (path, form, init) => upstream.form(path, form, init),
    bytes: (path, body, init) => upstream.bytes(path, body, init),
    webSocket: (path, options) => upstream.webSocket(path, options),
    download: (url) => upstream.download(url),
  };
}
