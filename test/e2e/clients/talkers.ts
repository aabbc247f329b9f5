import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { embedMany, generateImage, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { Gateway } from "../../support/gateway.ts";

/** One client, made to do the same things as the others. */
export interface Talker {
  name: string;
  /** Asks, does the tool that is called, and tells what is said with its result in hand. */
  toolTurn(model: string, toolNames: readonly string[], stream: boolean): Promise<string>;
  /** Asks for an answer that fits a schema, and gives it parsed. */
  fillSchema(model: string): Promise<unknown>;
  /** Asks about a picture sent along. */
  lookAt(model: string, png: string): Promise<string>;
  /** Embeds, and tells how long each vector is. */
  embeddings(model: string, values: string[], dimensions: number | undefined): Promise<number[]>;
  /** Draws a picture, where the client can. */
  draw?(model: string): Promise<Uint8Array>;
}

const anything = { type: "object" as const, properties: {}, additionalProperties: true };
const answerSchema = { title: "answer", type: "object" as const, properties: {}, additionalProperties: true };
const toolResult = "it is done";

/** The official client, the Vercel AI SDK and LangChain, in front of one gateway. */
export function talkersOf(gateway: Gateway): Talker[] {
  const { baseUrl: baseURL, key: apiKey } = gateway;
  return [officialClient(officialOf(gateway)), vercelSdk(baseURL, apiKey), langChain(baseURL, apiKey)];
}

/** The official client itself, for what the others do not do. */
export function officialOf({ baseUrl: baseURL, key: apiKey }: Gateway): OpenAI {
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

function officialClient(client: OpenAI): Talker {
  const { completions } = client.chat;
  return {
    name: "the official client",
    async toolTurn(model, toolNames, stream) {
      const tools = toolNames.map((name) => ({ type: "function" as const, function: { name, parameters: anything } }));
      const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "Use a tool" }];
      const say = async () => {
        const body = { model, tools, messages };
        const answer = stream ? await completions.stream(body).finalChatCompletion() : await completions.create(body);
        const message = answer.choices[0]?.message as (typeof answer)["choices"][number]["message"];
        messages.push(message);
        return message;
      };
      for (const { id } of (await say()).tool_calls ?? []) {
        messages.push({ role: "tool", tool_call_id: id, content: toolResult });
      }
      return (await say()).content ?? "";
    },
    async fillSchema(model) {
      const format = { type: "json_schema" as const, json_schema: { name: "answer", schema: answerSchema } };
      const messages = [{ role: "user" as const, content: "Fill it" }];
      const answer = await completions.create({ model, messages, response_format: format });
      return JSON.parse(answer.choices[0]?.message.content ?? "");
    },
    async lookAt(model, png) {
      const content = [
        { type: "text" as const, text: "What is it?" },
        { type: "image_url" as const, image_url: { url: `data:image/png;base64,${png}` } },
      ];
      const answer = await completions.create({ model, messages: [{ role: "user", content }] });
      return answer.choices[0]?.message.content ?? "";
    },
    async embeddings(model, input, dimensions) {
      const { data } = await client.embeddings.create({ model, input, ...(dimensions && { dimensions }) });
      return data.map(({ embedding }) => embedding.length);
    },
    async draw(model) {
      const { data } = await client.images.generate({ model, prompt: "A kite", response_format: "b64_json" });
      return Buffer.from(data?.[0]?.b64_json ?? "", "base64");
    },
  };
}

function vercelSdk(baseURL: string, apiKey: string): Talker {
  const sdk = createOpenAICompatible({ name: "modelgate", baseURL, apiKey, supportsStructuredOutputs: true });
  return {
    name: "the Vercel AI SDK",
    async toolTurn(model, toolNames, stream) {
      const execute = async () => toolResult;
      const made = toolNames.map((name) => [name, tool({ inputSchema: jsonSchema(anything), execute })]);
      const asked = {
        model: sdk.chatModel(model),
        prompt: "Use a tool",
        tools: Object.fromEntries(made),
        maxRetries: 0,
      };
      const options = { ...asked, stopWhen: stepCountIs(2) };
      const steps = stream ? await streamText(options).steps : (await generateText(options)).steps;
      return steps.at(-1)?.text ?? "";
    },
    async fillSchema(model) {
      const output = Output.object({ schema: jsonSchema(answerSchema) });
      return (await generateText({ model: sdk.chatModel(model), prompt: "Fill it", output, maxRetries: 0 })).output;
    },
    async lookAt(model, png) {
      const content = [
        { type: "text" as const, text: "What is it?" },
        { type: "file" as const, data: png, mediaType: "image/png" },
      ];
      const asked = { model: sdk.chatModel(model), messages: [{ role: "user" as const, content }], maxRetries: 0 };
      return (await generateText(asked)).text;
    },
    async embeddings(model, values, dimensions) {
      const providerOptions = dimensions === undefined ? {} : { modelgate: { dimensions } };
      const { embeddings } = await embedMany({
        model: sdk.embeddingModel(model),
        values,
        providerOptions,
        maxRetries: 0,
      });
      return embeddings.map((vector) => vector.length);
    },
    async draw(model) {
      const { image } = await generateImage({ model: sdk.imageModel(model), prompt: "A kite", maxRetries: 0 });
      return image.uint8Array;
    },
  };
}

function langChain(baseURL: string, apiKey: string): Talker {
  const base = { apiKey, maxRetries: 0, configuration: { baseURL } };
  const chatOf = (model: string) => new ChatOpenAI({ ...base, model, useResponsesApi: false });
  return {
    name: "LangChain",
    async toolTurn(model, toolNames, stream) {
      const tools = toolNames.map((name) => ({ type: "function" as const, function: { name, parameters: anything } }));
      const chat = chatOf(model).bindTools(tools);
      const messages: (HumanMessage | AIMessageChunk | ToolMessage)[] = [new HumanMessage("Use a tool")];
      const say = async () => {
        const answer = stream ? await gather(await chat.stream(messages)) : await chat.invoke(messages);
        messages.push(answer);
        return answer;
      };
      for (const { id } of (await say()).tool_calls ?? []) {
        messages.push(new ToolMessage({ tool_call_id: id as string, content: toolResult }));
      }
      return (await say()).text;
    },
    fillSchema: (model) => chatOf(model).withStructuredOutput(answerSchema, { method: "jsonSchema" }).invoke("Fill it"),
    async lookAt(model, png) {
      const content = [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
      ];
      return (await chatOf(model).invoke([new HumanMessage({ content })])).text;
    },
    async embeddings(model, values, dimensions) {
      const embeddings = new OpenAIEmbeddings({ ...base, model, ...(dimensions && { dimensions }) });
      return (await embeddings.embedDocuments(values)).map((vector) => vector.length);
    },
  };
}

/** The pieces of a streamed message put together, as LangChain adds them up. */
export async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const piece of stream) whole = whole === undefined ? piece : whole.concat(piece);
  if (whole === undefined) throw new Error("The stream had no piece");
  return whole;
}
