import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey, keyFields } from "../../../src/keys/index.ts";
import { providerFields } from "../../../src/providers/index.ts";
import { accountFields } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly $ref?: string;
}
type Content = { readonly content: { readonly "application/json": { readonly schema: Schema } } };
interface Operation {
  readonly requestBody: Content;
  readonly responses: { readonly 200: Content };
}

let gateway: InProcessGateway;
let adminKey: string;
let components: Readonly<Record<string, Schema>>;
let paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "on" } });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, Date.now())).key;
  const { json } = await ask("GET", new URL("/openapi.json", gateway.baseUrl).href);
  paths = json.paths;
  const named = Object.entries(json.components.schemas as Record<string, Schema>);
  components = Object.fromEntries(named.map(([name, schema]) => [`#/components/schemas/${name}`, schema]));
});
afterAll(() => gateway.stop());

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(path.startsWith("http") ? path : `${gateway.baseUrl}/organization${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

const resolve = (schema: Schema): Schema => (schema.$ref === undefined ? schema : (components[schema.$ref] as Schema));
const namesOf = (schema: Schema): string[] => {
  const { properties = {}, allOf = [] } = resolve(schema);
  return [...Object.keys(properties), ...allOf.flatMap(namesOf)];
};
const schemaOf = ({ content }: Content) => content["application/json"].schema;

describe.each([
  ["a key", keyFields, "/projects/{project_id}/api_keys", "/{key_id}", "keys"],
  ["an account", accountFields, "/projects", "/{project_id}", "accounts"],
  ["a provider", providerFields, "/providers", "/{provider_id}", "providers"],
] as const)("every field of %s", (_, fields, path, one, section) => {
  const operationOf = (place: string, method: string) => paths[`/v1/organization${place}`]?.[method] as Operation;

  test("can be given when it is made and changed, and is in the answers and in the document", () => {
    const document = resolve(schemaOf(operationOf("/config", "put").requestBody));
    const places = [
      ...[path, `${path}${one}`].flatMap((place) => {
        const { requestBody, responses } = operationOf(place, "post");
        return [schemaOf(requestBody), schemaOf(responses[200])];
      }),
      document.properties?.[section]?.items as Schema,
    ];
    for (const place of places) expect(namesOf(place)).toEqual(expect.arrayContaining(Object.keys(fields)));
  });
});

test("null takes the budget and the end of a key away, each alone too", async () => {
  const { id: project } = (await ask("POST", "/projects", { name: "Test" })).json;
  const path = `/projects/${project}/api_keys`;
  const limits = { budget_usd: "5", budget_period: "day", expires_in_seconds: 60, requests_per_minute: 3 };
  const { id } = (await ask("POST", path, { name: "app", ...limits })).json;
  const ended = (await ask("POST", `${path}/${id}`, { expires_in_seconds: null })).json;
  expect(ended).toMatchObject({ expires_at: null, budget_usd: "5", budget_period: "day", requests_per_minute: 3 });
  const { status, json } = await ask("POST", `${path}/${id}`, { budget_usd: null, budget_period: null });
  expect([status, json]).toMatchObject([200, { budget_usd: null, budget_period: null, requests_per_minute: 3 }]);
});
