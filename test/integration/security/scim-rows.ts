import { commandLine } from "../../../src/audit/index.ts";
import { createDirectoryGroup, createDirectoryUser } from "../../../src/tenants/index.ts";
import type { InProcessGateway } from "../../support/in-process.ts";

type Row = { body?: unknown; id?: () => string | Promise<string> };

/** The routes by which an identity provider manages users and groups, for the table of authorization: for admin keys alone. */
export function scimRows<Made>(
  toRow: (statuses: { others: number; "admin key": number; "limited admin key": number }, row: Row) => Made,
  gateway: () => InProcessGateway,
): Record<string, Made> {
  const scim = (status: number, row: Row = {}) =>
    toRow({ others: 401, "admin key": status, "limited admin key": 403 }, row);
  const by = commandLine;
  const email = () => `${crypto.randomUUID()}@example.org`;
  const user = () => createDirectoryUser(gateway().store, { by, email: email() }, Date.now());
  const group = () => {
    const fields = { name: crypto.randomUUID(), externalId: null, memberIds: new Set<string>() };
    return createDirectoryGroup(gateway().store, { by, fields }, Date.now());
  };
  const disable = { Operations: [{ op: "replace", path: "active", value: false }] };
  const rename = () => ({ Operations: [{ op: "replace", path: "displayName", value: crypto.randomUUID() }] });
  const named = () => ({ displayName: crypto.randomUUID() });
  const rows = (path: string): Record<string, Made> => ({
    [`GET ${path}/ServiceProviderConfig`]: scim(200),
    [`GET ${path}/ResourceTypes`]: scim(200),
    [`GET ${path}/ResourceTypes/:id`]: scim(200, { id: () => "User" }),
    [`GET ${path}/Schemas`]: scim(200),
    [`GET ${path}/Schemas/:id`]: scim(200, { id: () => "urn:ietf:params:scim:schemas:core:2.0:User" }),
    [`GET ${path}/Users`]: scim(200),
    [`POST ${path}/Users`]: scim(201, { body: () => ({ userName: email() }) }),
    [`GET ${path}/Users/:id`]: scim(200, { id: user }),
    [`PUT ${path}/Users/:id`]: scim(200, { id: user, body: { displayName: "Ada" } }),
    [`PATCH ${path}/Users/:id`]: scim(200, { id: user, body: disable }),
    [`DELETE ${path}/Users/:id`]: scim(204, { id: user }),
    [`GET ${path}/Groups`]: scim(200),
    [`POST ${path}/Groups`]: scim(201, { body: named }),
    [`GET ${path}/Groups/:id`]: scim(200, { id: group }),
    [`PUT ${path}/Groups/:id`]: scim(200, { id: group, body: named }),
    [`PATCH ${path}/Groups/:id`]: scim(204, { id: group, body: rename }),
    [`DELETE ${path}/Groups/:id`]: scim(204, { id: group }),
  });
  return { ...rows("/scim/v2"), ...rows("{api}/scim/v2") };
}
