import { sandbox } from "../../../../plugins/index.ts";
import { type Capability, modelCapabilities } from "../../../../src/contract/index.ts";
import type { Call, ChatCompletion, ChatRequest, ChatStream, Model } from "../../../../src/provider/index.ts";
import { drain, fakeCall, plainModel } from "../../sdk/fake-call.ts";

const models = modelCapabilities.map((capability): Model => ({ ...plainModel, id: `acme-${capability}`, capability }));

/** The sandbox over one model a capability. */
export const box = sandbox(models);

/** A call to the sandbox's model of a capability; its upstream fails whoever asks it. */
export function boxCall<Request extends object>(capability: Capability, request: Request, row: Partial<Model> = {}) {
  const model = { ...(models.find((known) => known.capability === capability) as Model), ...row };
  const forbidden = new Error("The sandbox asked a network");
  const answers = { json: forbidden, form: forbidden, bytes: forbidden, events: forbidden, download: forbidden };
  return fakeCall({ model: model.id, ...request }, answers, model).call as Call<Request & { model: string }>;
}

type ChatWish = Omit<Partial<ChatRequest>, "messages"> & { prompt?: string; messages?: ChatRequest["messages"] };

function chatCall({ prompt = "Hello big world", ...request }: ChatWish) {
  return boxCall("chat", { messages: [{ role: "user" as const, content: prompt }], ...request });
}

/** The sandbox's whole answer to a prompt. */
export async function ask(wish: ChatWish): Promise<ChatCompletion> {
  return (await box.handlers.chat?.(chatCall(wish))) as ChatCompletion;
}

/** The sandbox's chunks for a prompt, and the error they end in. */
export async function askStream(wish: ChatWish) {
  const chunks = await box.handlers.chat?.(chatCall({ ...wish, stream: true }));
  return drain(chunks as ChatStream);
}
