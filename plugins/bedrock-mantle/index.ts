import { bearer, definePlugin, openai, openaiModelOptions, readModels } from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/** Bedrock's endpoints in OpenAI's protocol. https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html */
export default definePlugin({
  name: "bedrock-mantle",
  baseUrl: "https://bedrock-mantle.us-east-1.api.aws",
  credential: {
    fields: [
      { name: "region", label: "Region", pattern: "[a-z]{2}(-[a-z]+)+-\\d", example: "us-east-1" },
      { name: "api_key", label: "Bedrock API key", secret: true },
    ],
    methods: [{ name: "api_key", label: "API key", fields: ["region", "api_key"] }],
    baseUrl: ({ region }) => `https://bedrock-mantle.${region}.api.aws`,
  },
  authorize: (_, { fields }) => bearer(fields.api_key ?? ""),
  models: readModels(catalogue),
  modelOptions: openaiModelOptions,
  handlers: openai({ chat: { path: "/v1/chat/completions" }, responses: { path: "/openai/v1/responses" } }),
  maxChoices: { chat: 1 },
});
