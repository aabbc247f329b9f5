import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

/** An answer of SCIM; the body is `null` where there is none. */
export interface ScimAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each resource has a shape of its own, and the test that looks knows it
  readonly body: any;
  readonly headers: Headers;
}

/** A gateway with an admin key for SCIM, and one for all else. */
export async function startScim(env: Record<string, string> = { SANDBOX: "on" }) {
  const gateway = await startInProcess({ env });
  const origin = new URL(gateway.baseUrl).origin;
  const newKey = async (scope: string) =>
    (await createAdminKey(gateway.store, commandLine, { name: scope, scopes: [scope] }, Date.now())).key;
  const [scimKey, adminKey] = [await newKey("scim:write"), await newKey("all")];
  const scim = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ScimAnswer> => {
    const response = await fetch(`${origin}/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${scimKey}`, "content-type": "application/scim+json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text), headers: response.headers };
  };
  const manage = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${origin}/v1/organization${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: as above
    return { status: response.status, body: (await response.json()) as any };
  };
  return { gateway, origin, newKey, scim, manage };
}

export type ScimGateway = Awaited<ReturnType<typeof startScim>>;

/** Makes a team, and returns its id. */
export async function newTeam({ manage }: ScimGateway, name: string): Promise<string> {
  return (await manage("POST", "/projects", { name })).body.id;
}

/** The people of a team with their roles. */
export async function peopleOf({ manage }: ScimGateway, team: string): Promise<Record<string, string>> {
  const { data } = (await manage("GET", `/projects/${team}/users`)).body;
  return Object.fromEntries(data.map(({ id, role }: { id: string; role: string }) => [id, role]));
}

/** Makes a key of a person in an account, and returns whether it is valid now. */
export async function keyBy({ app: { accounts } }: InProcessGateway, accountId: string, by: string) {
  const { id, key } = await accounts.createKey({ accountId, name: "a script", by });
  const isGood = async () => {
    try {
      await accounts.authenticate(key);
      return true;
    } catch {
      return false;
    }
  };
  return { id, key, isGood };
}
