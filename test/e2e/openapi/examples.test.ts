import { expect, test } from "bun:test";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

interface Description {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { example?: unknown }> } }>>;
}

const shared = useSandboxGateway({ SANDBOX: "on" });

test("every example of the OpenAPI document is answered", async () => {
  const { gateway } = shared;
  const { paths } = (await (await fetch(`${gateway.origin}/openapi.json`)).json()) as Description;
  const answered: string[] = [];
  for (const [path, { post }] of Object.entries(paths)) {
    const json = post?.requestBody?.content["application/json"];
    if (json === undefined) continue;
    if (json.example === undefined) {
      expect(path).toEndWith("/responses/compact");
      continue;
    }
    const response = await fetch(`${gateway.origin}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify(json.example),
    });
    expect([path, response.status, response.ok ? "" : await response.text()]).toEqual([path, 200, ""]);
    answered.push(path);
  }
  expect(answered).toContain("/v1/embeddings");
  expect(answered).toContain("/api/v1/messages/count_tokens");
});
