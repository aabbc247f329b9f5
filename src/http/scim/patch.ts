/** Changes as identity providers send them (RFC 7644, section 3.5.2), in the forms of Entra and of Okta too. */
import { isRecord } from "../../lib/json.ts";
import type { DirectoryGroupFields, DirectoryUserFields } from "../../tenants/index.ts";
import { fault } from "./fault.ts";
import { readListFilter, toAttribute } from "./filter.ts";

/** One change of one attribute. */
export interface Operation {
  readonly op: "add" | "replace" | "remove";
  /** In lower case. */
  readonly attribute: string;
  /** The entry of a list that is meant: `members[value eq "…"]`. */
  readonly entry?: string;
  readonly value: unknown;
}

/** Operations of a request, and members that it names. */
const operationsMax = 1000;
const pathCharactersMax = 500;

/** Reads the operations of a request; one without a path is one for each attribute of its value. @throws {GatewayError} */
export function readOperations(body: unknown): Operation[] {
  if (!isRecord(body)) throw fault("invalidSyntax", "The body is not a JSON object");
  const list = Object.entries(body).find(([name]) => name.toLowerCase() === "operations")?.[1];
  if (!Array.isArray(list) || list.length === 0) {
    throw fault("invalidSyntax", "Operations is missing; expected a list of operations");
  }
  if (list.length > operationsMax) {
    throw fault("tooMany", `Operations has ${list.length} entries, expected at most ${operationsMax}`);
  }
  return list.flatMap(readOperation);
}

function readOperation(operation: unknown): Operation[] {
  if (!isRecord(operation)) throw fault("invalidSyntax", "Operations: an entry is not a JSON object");
  const { path, value } = operation;
  const op = typeof operation.op === "string" ? operation.op.toLowerCase() : undefined;
  if (op !== "add" && op !== "replace" && op !== "remove") {
    throw fault("invalidSyntax", "Operations: op must be add, replace or remove");
  }
  if (path === undefined || path === null || path === "") {
    if (op === "remove") throw fault("noTarget", "Operations: remove needs a path");
    if (!isRecord(value)) throw fault("invalidValue", "Operations: without a path, value must be a JSON object");
    return Object.entries(value).flatMap(([name, one]) => {
      const attribute = toAttribute(name);
      // The resource as it is: Okta repeats its id.
      return unchanged.has(attribute) ? [] : [{ op, ...readPath(name), value: one }];
    });
  }
  if (typeof path !== "string" || path.length > pathCharactersMax) {
    throw fault("invalidPath", `Operations: path must be a text of at most ${pathCharactersMax} characters`);
  }
  const place = readPath(path);
  if (unchanged.has(place.attribute)) throw fault("mutability", `${place.attribute} cannot be changed`);
  return [{ op, ...place, value }];
}

const unchanged: ReadonlySet<string> = new Set(["id", "meta", "schemas", "groups"]);

function readPath(path: string): Pick<Operation, "attribute" | "entry"> {
  const text = path.trim();
  if (!/^members\s*\[/i.test(text)) return { attribute: toAttribute(text) };
  const filter = readListFilter(text);
  if (filter === undefined) throw fault("invalidPath", `path is ${JSON.stringify(text)}, which cannot be read`);
  return { attribute: filter.attribute, entry: filter.value };
}

/** Returns the fields of a user that operations set. Attributes that are not kept are left out. @throws {GatewayError} */
export function toUserChanges(operations: readonly Operation[]): DirectoryUserFields {
  let fields: DirectoryUserFields = {};
  for (const { op, attribute, value } of operations) {
    const isRemoved = op === "remove";
    if (isRemoved && (attribute === "active" || attribute === "username")) {
      throw fault("mutability", `${attribute} cannot be removed`);
    }
    fields = { ...fields, ...readUserAttribute(attribute, isRemoved ? null : value) };
  }
  return fields;
}

/** The fields of a user that an attribute sets. @param value `null`: it is removed. @throws {GatewayError} */
function readUserAttribute(attribute: string, value: unknown): DirectoryUserFields {
  switch (attribute) {
    case "active":
      return { isActive: toBoolean(value) };
    case "username":
      return { email: toText(value, "userName") };
    case "externalid":
      return { externalId: value === null ? null : toText(value, "externalId") };
    case "displayname":
    case "name.formatted":
      return { name: value === null ? null : toText(value, attribute) || null };
    case "name":
      return isRecord(value) ? readName(value) : {};
    default:
      return {};
  }
}

/** A resource as it is sent whole. Absent attributes stay as they are. @throws {GatewayError} */
export function readUser(body: unknown): DirectoryUserFields {
  if (!isRecord(body)) throw fault("invalidSyntax", "The body is not a JSON object");
  const attributes = Object.entries(body).map(([name, value]) => [toAttribute(name), value] as const);
  // The name to display comes before the parts of a name, whichever the client wrote first.
  const ordered = attributes.toSorted(([one]) => (one === "name" ? -1 : 0));
  let fields: DirectoryUserFields = {};
  for (const [attribute, value] of ordered) {
    // Without a value it is as if it were absent.
    if (value !== null) fields = { ...fields, ...readUserAttribute(attribute, value) };
  }
  return fields;
}

function readName(name: Readonly<Record<string, unknown>>): DirectoryUserFields {
  const { formatted, givenName, familyName } = name;
  if (typeof formatted === "string" && formatted !== "") return { name: formatted };
  const parts = [givenName, familyName].filter((part) => typeof part === "string" && part !== "");
  // A single part is not the name.
  return parts.length === 2 ? { name: parts.join(" ") } : {};
}

/** Entra sends "False" and "True". @throws {GatewayError} */
function toBoolean(value: unknown): boolean {
  const text = typeof value === "string" ? value.toLowerCase() : value;
  if (text === true || text === "true") return true;
  if (text === false || text === "false") return false;
  throw fault("invalidValue", 'active must be true or false, or the text "True" or "False"');
}

function toText(value: unknown, attribute: string): string {
  if (typeof value === "string" && value.length <= textCharactersMax) return value;
  throw fault("invalidValue", `${attribute} must be a text of at most ${textCharactersMax} characters`);
}

const textCharactersMax = 254;

/** Applies operations to a group. @throws {GatewayError} */
export function changeGroup(group: DirectoryGroupFields, operations: readonly Operation[]): DirectoryGroupFields {
  let { name, externalId } = group;
  let memberIds = new Set(group.memberIds);
  for (const { op, attribute, entry, value } of operations) {
    if (attribute === "displayname") name = toName(op === "remove" ? undefined : value);
    if (attribute === "externalid") externalId = op === "remove" || value === null ? null : toText(value, "externalId");
    if (attribute !== "members") continue;
    if (op === "remove" && entry === undefined && value == null) memberIds.clear();
    else if (op === "remove") for (const id of entry === undefined ? toIds(value) : [entry]) memberIds.delete(id);
    else if (entry !== undefined) throw fault("invalidPath", 'members[value eq "…"] is for remove; send a list to add');
    else if (op === "replace") memberIds = new Set(toIds(value));
    else for (const id of toIds(value)) memberIds.add(id);
  }
  return { name, externalId, memberIds };
}

/** Reads a group that was sent whole. Absent attributes keep their values. @throws {GatewayError} */
export function readGroup(body: unknown, before?: DirectoryGroupFields): DirectoryGroupFields {
  if (!isRecord(body)) throw fault("invalidSyntax", "The body is not a JSON object");
  const { displayname, externalid, members } = Object.fromEntries(
    Object.entries(body).map(([name, value]) => [toAttribute(name), value]),
  );
  return {
    name: toName(displayname ?? before?.name),
    externalId: externalid == null ? (before?.externalId ?? null) : toText(externalid, "externalId"),
    memberIds: members == null ? (before?.memberIds ?? new Set()) : new Set(toIds(members)),
  };
}

function toName(value: unknown): string {
  if (typeof value === "string" && value.trim() !== "" && value.length <= nameCharactersMax) return value.trim();
  throw fault("invalidValue", `displayName must be a text of 1 to ${nameCharactersMax} characters`);
}

const nameCharactersMax = 200;
const idCharactersMax = 100;

/** The ids of a list of members, or of one of them. */
function toIds(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((member) => {
    const id = isRecord(member) ? member.value : member;
    if (typeof id === "string" && id.length <= idCharactersMax) return id;
    throw fault("invalidValue", "members: each must have the id of a user as its value");
  });
}
