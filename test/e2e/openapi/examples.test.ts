import { expect, test } from "bun:test";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

interface Description {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { example?: unknown }> } }>>;
}

const shared = useSandboxGateway({ SANDBOX: "on" });

/** What the paths of the management API name, and a person whom an example adds to a project. */
async function prepareOrganization(origin: string, key: string): Promise<Record<string, string>> {
  const post = async (path: string, body: object): Promise<{ id: string }> => {
    const response = await fetch(`${origin}/v1/organization${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { id: string };
  };
  const project = (await post("/projects", { name: "Test" })).id;
  const invited = await post("/invites", { email: "ada@example.com", role: "reader" });
  return {
    project_id: project,
    key_id: (await post(`/projects/${project}/api_keys`, { name: "a key" })).id,
    service_account_id: (await post(`/projects/${project}/service_accounts`, { name: "job" })).id,
    user_id: invited.id.replace("invite_", ""),
    rate_limit_id: "all",
  };
}

test("every example of the OpenAPI document is answered", async () => {
  const { gateway } = shared;
  const admin = await gateway.cli<{ key: string }>("admin-key", "create", "--name", "test", "--scopes", "all");
  const managed = await prepareOrganization(gateway.origin, admin.key);
  const { paths } = (await (await fetch(`${gateway.origin}/openapi.json`)).json()) as Description;
  const answered: string[] = [];
  for (const [path, { post }] of Object.entries(paths)) {
    const json = post?.requestBody?.content["application/json"];
    if (json === undefined) continue;
    if (json.example === undefined) {
      expect(path).toEndWith("/responses/compact");
      continue;
    }
    const isManaged = path.includes("/organization");
    // A person is invited once, and the other mount has the same handlers.
    if (isManaged && !path.startsWith("/v1/")) continue;
    const key = isManaged ? admin.key : gateway.key;
    const place = path.replace(/\{(\w+)\}/g, (_, name: string) => managed[name] as string);
    const response = await fetch(`${gateway.origin}${place}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(json.example),
    });
    expect([path, response.status, response.ok ? "" : await response.text()]).toEqual([path, 200, ""]);
    answered.push(path);
  }
  expect(answered).toContain("/v1/embeddings");
  expect(answered).toContain("/v1/organization/projects/{project_id}/api_keys/{key_id}/rotate");
  expect(answered).toContain("/api/v1/messages/count_tokens");
});
