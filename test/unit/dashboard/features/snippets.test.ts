import { describe, expect, test } from "bun:test";
import { createSnippet } from "../../../../src/dashboard/features/connect/snippets.ts";

const options = { baseUrl: "http://gateway.example/v1", key: "KEY", model: "large" };

describe("an example of an agent", () => {
  test("has the model for small work where the agent takes one, and the same model without it", () => {
    const both = { ...options, smallModel: "small" };
    expect(createSnippet("claude", both)).toContain("ANTHROPIC_DEFAULT_HAIKU_MODEL=small\n");
    expect(createSnippet("claude", options)).toContain("ANTHROPIC_DEFAULT_HAIKU_MODEL=large\n");
    expect(JSON.parse(createSnippet("opencode", both))).toMatchObject({
      provider: { modelgate: { models: { large: {}, small: {} } } },
      model: "modelgate/large",
      small_model: "modelgate/small",
    });
    expect(JSON.parse(createSnippet("opencode", options)).provider.modelgate.models).toEqual({ large: {} });
  });

  test.each([
    [
      { contextTokens: 8000, features: [] },
      { toolCalling: false, vision: false, maxInputTokens: 6000, maxOutputTokens: 2000 },
    ],
    [
      { contextTokens: 200_000, outputTokensMax: 16_000, features: ["tools" as const] },
      { toolCalling: true, vision: false, maxInputTokens: 184_000, maxOutputTokens: 16_000 },
    ],
    [undefined, { toolCalling: true, vision: true, maxInputTokens: 100_000, maxOutputTokens: 32_000 }],
  ])("tells VS Code what the catalogue knows of the model: %j", (facts, expected) => {
    const [{ models }] = JSON.parse(createSnippet("vscode", { ...options, facts }));
    expect(models).toMatchObject([{ id: "large", ...expected }]);
  });
});
