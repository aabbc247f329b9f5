import type { Model } from "../models/api.ts";

/** The parts of an example. */
export interface SnippetOptions {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  /** The model for the small work of an agent; absent: the same. */
  readonly smallModel?: string | undefined;
  /** Facts of the model, for clients that need them in their configuration; absent: usual values. */
  readonly facts?: Pick<Model, "contextTokens" | "outputTokensMax" | "features"> | undefined;
}

/** Facts of a model for clients that must be given them, where the catalogue does not know them. */
const usual = { contextTokens: 132_000, outputTokensMax: 32_000, features: ["tools", "vision"] };

/** The bounds of prompt and answer that together fit into the context, and what the model can. */
function toFacts({ facts }: SnippetOptions) {
  const context = facts?.contextTokens ?? usual.contextTokens;
  const output = Math.min(facts?.outputTokensMax ?? usual.outputTokensMax, Math.floor(context / 4));
  const features: readonly string[] = facts?.features ?? usual.features;
  return { input: context - output, output, has: (feature: string) => features.includes(feature) };
}

interface Client {
  readonly name: string;
  /** The maker whose models the client is made for; absent: any. */
  readonly maker?: Model["ownedBy"];
  /** Where the text belongs, for what is not pasted into a shell. */
  readonly file?: string;
  readonly toLines: (options: SnippetOptions) => string[];
}

const hello = "Say hello";
/** Anthropic's clients put `/v1/messages` behind the address, which is served whatever the base path is. */
const toOrigin = (baseUrl: string) => new URL(baseUrl).origin;

/** Clients, each with an example. {@link newKeyClients} are also shown with a new key. */
export const clients = {
  curl: {
    name: "curl",
    toLines: ({ baseUrl, key, model }) => [
      `curl ${baseUrl}/chat/completions \\`,
      `  -H "Authorization: Bearer ${key}" \\`,
      `  -H "Content-Type: application/json" \\`,
      `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "${hello}"}]}'`,
    ],
  },
  node: {
    name: "Node",
    toLines: ({ baseUrl, key, model }) => [
      `import OpenAI from "openai"; // npm install openai`,
      "",
      "const client = new OpenAI({",
      `  baseURL: "${baseUrl}",`,
      `  apiKey: "${key}",`,
      "});",
      "const completion = await client.chat.completions.create({",
      `  model: "${model}",`,
      `  messages: [{ role: "user", content: "${hello}" }],`,
      "});",
      "console.log(completion.choices[0].message.content);",
    ],
  },
  python: {
    name: "Python",
    toLines: ({ baseUrl, key, model }) => [
      "from openai import OpenAI  # pip install openai",
      "",
      `client = OpenAI(base_url="${baseUrl}", api_key="${key}")`,
      "completion = client.chat.completions.create(",
      `    model="${model}",`,
      `    messages=[{"role": "user", "content": "${hello}"}],`,
      ")",
      "print(completion.choices[0].message.content)",
    ],
  },
  codex: {
    name: "Codex",
    maker: "openai",
    toLines: ({ baseUrl, key, model }) => [
      `export MODELGATE_KEY=${key}`,
      `codex -c model='"${model}"' -c model_provider='"modelgate"' \\`,
      `  -c model_providers.modelgate.name='"modelgate"' \\`,
      `  -c model_providers.modelgate.base_url='"${baseUrl}"' \\`,
      `  -c model_providers.modelgate.env_key='"MODELGATE_KEY"' \\`,
      `  -c model_providers.modelgate.wire_api='"responses"'`,
    ],
  },
  claude: {
    name: "Claude Code",
    maker: "anthropic",
    toLines: ({ baseUrl, key, model, smallModel = model }) => [
      `export ANTHROPIC_BASE_URL=${toOrigin(baseUrl)}`,
      `export ANTHROPIC_AUTH_TOKEN=${key}`,
      `export ANTHROPIC_MODEL=${model}`,
      `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${smallModel}`,
      "claude",
    ],
  },
  opencode: {
    name: "OpenCode",
    file: "opencode.json of a project, or ~/.config/opencode/opencode.json",
    toLines: ({ baseUrl, key, model, smallModel = model }) => [
      "{",
      '  "provider": {',
      '    "modelgate": {',
      '      "npm": "@ai-sdk/openai-compatible",',
      `      "options": { "baseURL": "${baseUrl}", "apiKey": "${key}" },`,
      `      "models": { ${[...new Set([model, smallModel])].map((name) => `"${name}": {}`).join(", ")} }`,
      "    }",
      "  },",
      `  "model": "modelgate/${model}",`,
      `  "small_model": "modelgate/${smallModel}"`,
      "}",
    ],
  },
  cursor: {
    name: "Cursor",
    file: "Settings, Models: Cursor calls from its own servers, so the address must be reachable from the internet",
    toLines: ({ baseUrl, key, model }) => [
      `OpenAI API key:            ${key}`,
      `Override OpenAI Base URL:  ${baseUrl}`,
      `Add model:                 ${model}`,
    ],
  },
  vscode: {
    name: "VS Code",
    file: "Chat: Manage Language Models, Add Models, Custom Endpoint; enter the key, then chatLanguageModels.json",
    toLines: (options) => {
      const { baseUrl, model } = options;
      const { input, output, has } = toFacts(options);
      return [
        "[",
        "  {",
        '    "name": "modelgate",',
        '    "vendor": "customendpoint",',
        '    "apiType": "chat-completions",',
        '    "models": [',
        "      {",
        `        "id": "${model}",`,
        `        "name": "${model}",`,
        `        "url": "${baseUrl}/chat/completions",`,
        `        "toolCalling": ${has("tools")},`,
        `        "vision": ${has("vision")},`,
        `        "maxInputTokens": ${input},`,
        `        "maxOutputTokens": ${output}`,
        "      }",
        "    ]",
        "  }",
        "]",
      ];
    },
  },
  copilot: {
    name: "Copilot CLI",
    toLines: ({ baseUrl, key, model }) => [
      `export COPILOT_PROVIDER_BASE_URL=${baseUrl} COPILOT_PROVIDER_API_KEY=${key}`,
      `export COPILOT_PROVIDER_WIRE_API=responses COPILOT_MODEL=${model}`,
      "copilot",
    ],
  },
  qwen: {
    name: "Qwen Code",
    toLines: ({ baseUrl, key, model }) => [
      `export OPENAI_BASE_URL=${baseUrl} OPENAI_API_KEY=${key}`,
      `export OPENAI_MODEL=${model}`,
      "qwen --auth-type openai",
    ],
  },
  cline: {
    name: "Cline",
    toLines: ({ baseUrl, key, model }) => [
      `cline auth -p openai -b ${baseUrl} -k ${key} -m ${model}`,
      `cline "${hello}"`,
    ],
  },
  continue: {
    name: "Continue",
    file: "config.yaml",
    toLines: ({ baseUrl, key, model }) => [
      "name: modelgate",
      "version: 0.0.1",
      "schema: v1",
      "models:",
      `  - name: ${model}`,
      "    provider: openai",
      `    model: ${model}`,
      `    apiBase: ${baseUrl}`,
      `    apiKey: ${key}`,
    ],
  },
  anthropic: {
    name: "Anthropic SDK",
    maker: "anthropic",
    toLines: ({ baseUrl, key, model }) => [
      `import Anthropic from "@anthropic-ai/sdk"; // npm install @anthropic-ai/sdk`,
      "",
      `const client = new Anthropic({ baseURL: "${toOrigin(baseUrl)}", authToken: "${key}", apiKey: null });`,
      "const message = await client.messages.create({",
      `  model: "${model}",`,
      "  max_tokens: 500,",
      `  messages: [{ role: "user", content: "${hello}" }],`,
      "});",
      "console.log(message.content);",
    ],
  },
  aisdk: {
    name: "AI SDK",
    toLines: ({ baseUrl, key, model }) => [
      `import { createOpenAI } from "@ai-sdk/openai"; // npm install ai @ai-sdk/openai`,
      `import { generateText } from "ai";`,
      "",
      `const modelgate = createOpenAI({ baseURL: "${baseUrl}", apiKey: "${key}" });`,
      `const { text } = await generateText({ model: modelgate("${model}"), prompt: "${hello}" });`,
      "console.log(text);",
    ],
  },
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof clients;
/** All clients by name, and as people call them. */
export const clientChoices = Object.entries(clients).map(([client, { name }]) => [client as ClientName, name] as const);
/** Clients that are shown with a new key. */
export const newKeyClients: readonly (readonly [ClientName, string])[] = (
  ["curl", "node", "python", "codex", "claude"] as const
).map((client) => [client, clients[client].name]);

/** An example to paste, which works as it is. */
export function createSnippet(client: ClientName, options: SnippetOptions): string {
  return clients[client].toLines(options).join("\n");
}

export const getClient = (client: ClientName): Client => clients[client];
