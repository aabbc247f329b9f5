import { afterAll, beforeAll, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let gateway: InProcessGateway;
let adminKey: string;
beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on", REQUESTS_PER_MINUTE: "10000" } });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "all", scopes: ["all"] }, Date.now())).key;
});
afterAll(() => gateway.stop());

async function ask(method: string, path: string) {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
  const response = await fetch(gateway.baseUrl + path, { method, headers, ...(method !== "GET" && { body: "{}" }) });
  const { error } = (await response.json()) as { error?: { message: string; param: string | null } };
  return { status: response.status, message: error?.message ?? "", param: error?.param };
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly names: readonly string[];
}

/** Every operation of the management API, with the parameters of its query. */
async function listOperations(): Promise<Operation[]> {
  const document = (await (await fetch(new URL("/openapi.json", gateway.baseUrl))).json()) as {
    paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]): Operation[] => {
      if (!path.includes("/organization/")) return [];
      const names = parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
      return [{ method: method.toUpperCase(), path: path.replace(/^.*(?=\/organization\/)/, ""), names }];
    }),
  );
}

test("a parameter that an operation does not have is refused by every one, before anything is done", async () => {
  const operations = await listOperations();
  expect(operations.length).toBeGreaterThan(150);
  for (const { method, path, names } of operations) {
    const asked = path.replaceAll(/\{\w+\}/g, "none");
    const refused = await ask(method, `${asked}?zzzzzzzzzz=1`);
    const expected = `Unknown query parameter "zzzzzzzzzz"`;
    expect([method, path, refused.status, refused.param]).toEqual([method, path, 400, "zzzzzzzzzz"]);
    // The document has the parameters that the operation knows, all of them and no others.
    expect([method, path, refused.message]).toEqual([
      method,
      path,
      `${expected}; ${names.length === 0 ? "there are none here" : `known are ${names.join(", ")}`}`,
    ]);
    for (const name of names) {
      // Whatever is said of its value, its name is one that the operation knows.
      expect((await ask(method, `${asked}?${name}=x`)).message).not.toContain("Unknown query parameter");
    }
  }
});

test.each([
  ["/organization/requests?modle=x", "modle", ", did you mean model?"],
  ["/organization/users?limits=5", "limits", ", did you mean limit?"],
  ["/organization/usage/completions?start_time=0&project_id=p", "project_id", ", did you mean project_ids?"],
  ["/organization/projects/none?limit=5", "limit", "; there are none here"],
])("%s names what was meant", async (path, param, hint) => {
  const { status, message, param: named } = await ask("GET", path);
  expect([status, named, message]).toEqual([400, param, `Unknown query parameter "${param}"${hint}`]);
});

test("a list may be written in each way in which clients write lists", async () => {
  for (const query of ["project_ids=a&project_ids=b", "project_ids[]=a", "project_ids[0]=a&project_ids[1]=b"])
    expect((await ask("GET", `/organization/usage/completions?start_time=0&${query}`)).status).toBe(200);
});
