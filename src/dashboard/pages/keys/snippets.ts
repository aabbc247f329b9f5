import { isRetired, type Model } from "../../data/models.ts";

export const languages = [
  ["curl", "curl"],
  ["node", "Node"],
  ["python", "Python"],
] as const;
export type SnippetLanguage = (typeof languages)[number][0];

interface SnippetOptions {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
}

/** Prefers a free chat model that is not retired, so that the example works. */
export function pickExampleModel(models: readonly Model[]): string | undefined {
  const chats = models.filter(({ capability }) => capability === "chat");
  const current = chats.filter((model) => !isRetired(model));
  return (current.find(({ premium }) => !premium) ?? current[0] ?? chats[0])?.id;
}

export function createSnippet(language: SnippetLanguage, { baseUrl, key, model }: SnippetOptions): string {
  if (language === "curl") {
    return [
      `curl ${baseUrl}/chat/completions \\`,
      `  -H "Authorization: Bearer ${key}" \\`,
      `  -H "Content-Type: application/json" \\`,
      `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Say hello"}]}'`,
    ].join("\n");
  }
  if (language === "node") {
    return [
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
    ].join("\n");
  }
  return [
    "from openai import OpenAI  # pip install openai",
    "",
    `client = OpenAI(base_url="${baseUrl}", api_key="${key}")`,
    "completion = client.chat.completions.create(",
    `    model="${model}",`,
    `    messages=[{"role": "user", "content": "Say hello"}],`,
    ")",
    "print(completion.choices[0].message.content)",
  ].join("\n");
}
