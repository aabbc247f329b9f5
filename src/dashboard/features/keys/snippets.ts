export const languages = [
  ["curl", "curl"],
  ["node", "Node"],
  ["python", "Python"],
  ["codex", "Codex"],
  ["claude", "Claude Code"],
] as const;
export type SnippetLanguage = (typeof languages)[number][0];

interface SnippetOptions {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
}

const snippets: Record<SnippetLanguage, (options: SnippetOptions) => string[]> = {
  curl: ({ baseUrl, key, model }) => [
    `curl ${baseUrl}/chat/completions \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Say hello"}]}'`,
  ],
  node: ({ baseUrl, key, model }) => [
    `import OpenAI from "openai"; // npm install openai`,
    "",
    "const client = new OpenAI({",
    `  baseURL: "${baseUrl}",`,
    `  apiKey: "${key}",`,
    "});",
    "const completion = await client.chat.completions.create({",
    `  model: "${model}",`,
    `  messages: [{ role: "user", content: "Say hello" }],`,
    "});",
    "console.log(completion.choices[0].message.content);",
  ],
  python: ({ baseUrl, key, model }) => [
    "from openai import OpenAI  # pip install openai",
    "",
    `client = OpenAI(base_url="${baseUrl}", api_key="${key}")`,
    "completion = client.chat.completions.create(",
    `    model="${model}",`,
    `    messages=[{"role": "user", "content": "Say hello"}],`,
    ")",
    "print(completion.choices[0].message.content)",
  ],
  codex: ({ baseUrl, key, model }) => [
    `export MODELGATE_KEY=${key}`,
    `codex -c model='"${model}"' -c model_provider='"modelgate"' \\`,
    `  -c model_providers.modelgate.name='"modelgate"' \\`,
    `  -c model_providers.modelgate.base_url='"${baseUrl}"' \\`,
    `  -c model_providers.modelgate.env_key='"MODELGATE_KEY"' \\`,
    `  -c model_providers.modelgate.wire_api='"responses"'`,
  ],
  claude: ({ baseUrl, key, model }) => [
    // Claude Code puts `/v1/messages` behind it, which is served whatever the base path is.
    `export ANTHROPIC_BASE_URL=${new URL(baseUrl).origin}`,
    `export ANTHROPIC_AUTH_TOKEN=${key}`,
    `export ANTHROPIC_MODEL=${model}`,
    `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}`,
    "claude",
  ],
};

/** An example to paste, which works as it is. */
export function createSnippet(language: SnippetLanguage, options: SnippetOptions): string {
  return snippets[language](options).join("\n");
}
