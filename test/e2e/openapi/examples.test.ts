import { expect, test } from "bun:test";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { prepareOrganization, prepareSession } from "./organization.ts";

interface Description {
  paths: Record<
    string,
    Partial<Record<"post" | "put", { requestBody?: { content: Record<string, { example?: unknown }> } }>>
  >;
}

const shared = useSandboxGateway({ SANDBOX: "on" });

test("every example of the OpenAPI document is answered", async () => {
  const { gateway } = shared;
  const admin = await gateway.cli<{ key: string }>("admin-key", "create", "--name", "test", "--scopes", "all");
  const managed = await prepareOrganization(gateway.origin, admin.key);
  managed.session = await prepareSession(gateway.origin, admin.key, managed.project_id as string);
  const { paths } = (await (await fetch(`${gateway.origin}/openapi.json`)).json()) as Description;
  const answered: string[] = [];
  const operations = Object.entries(paths).flatMap(([path, { post, put }]) => [
    { path, method: "POST", operation: post },
    { path, method: "PUT", operation: put },
  ]);
  for (const { path, method, operation } of operations) {
    const json = operation?.requestBody?.content["application/json"];
    if (json === undefined) continue;
    if (json.example === undefined) {
      expect(path).toEndWith("/responses/compact");
      continue;
    }
    const isManaged = path.includes("/organization");
    // A person is invited once, and the other mount has the same handlers.
    if (isManaged && !path.startsWith("/v1/")) continue;
    const key = isManaged ? admin.key : gateway.key;
    // Limits and budgets of a project and those for each project have ids of their own.
    const isShared = path.includes("/organization/rate_limits/");
    const isOfGateway = /\/organization\/(budgets|group_roles|markups|policies)\//.test(path);
    const toId = (name: string) => managed[`${isShared ? "shared_" : isOfGateway ? "gateway_" : ""}${name}`] as string;
    const place = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(toId(name)));
    const response = await fetch(`${gateway.origin}${place}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(json.example),
    });
    const answer = await response.text();
    if (path === "/v1/organization/sandbox") {
      // The environment of this gateway decides.
      expect([response.status, answer]).toEqual([409, expect.stringContaining("SANDBOX is set in the environment")]);
      continue;
    }
    if (path.endsWith("/alerts/{alert_id}/mute")) {
      // Nothing is wrong at this gateway.
      expect([response.status, answer]).toEqual([404, expect.stringContaining("This alert is no longer active")]);
      continue;
    }
    if (path === "/v1/organization/credentials/revoke") {
      // Its id is one that no gateway has.
      expect([response.status, answer]).toEqual([404, expect.stringContaining("No credential that you may end")]);
      continue;
    }
    if (path === "/v1/organization/projects/{project_id}/reversals") {
      // The id of a credit has the id of its project.
      expect([response.status, answer]).toEqual([404, expect.stringContaining("There is no transaction credit:")]);
      continue;
    }
    expect([path, response.status, response.ok ? "" : answer]).toEqual([path, 200, ""]);
    answered.push(path);
  }
  expect(answered).toContain("/v1/embeddings");
  expect(answered).toContain("/v1/organization/projects/{project_id}/api_keys/{key_id}/rotate");
  expect(answered).toContain("/v1/organization/config");
  expect(answered).toContain("/api/v1/messages/count_tokens");
});
