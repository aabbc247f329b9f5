import { parseJson } from "../../lib/json.ts";
import { fault } from "./fault.ts";

/** A filter of a list: one attribute, in lower case, that equals a text. */
export interface Filter {
  readonly attribute: string;
  readonly value: string;
}

const filterCharactersMax = 1000;
const schemas = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;
/** The e-mail that identity providers mean, as they write it. */
const workEmail = 'emails[type eq "work"].value';

/** The name of an attribute in lower case, without the schema in front of it. */
export function toAttribute(text: string): string {
  return text.trim().replace(schemas, "").toLowerCase();
}

/**
 * Reads the filters that identity providers send: one attribute that equals a text.
 *
 * @throws {GatewayError} with the type `invalidFilter` for any other filter.
 *
 * @example
 * parseFilter('userName eq "ada@example.org"'); // => { attribute: "username", value: "ada@example.org" }
 */
export function parseFilter(text: string): Filter {
  const filter = text.trim();
  if (filter.length > filterCharactersMax) throw wrong(`has ${filter.length} characters`);
  if (filter.toLowerCase().startsWith(workEmail)) {
    return { attribute: "emails", value: readEqual(filter.slice(workEmail.length), filter) };
  }
  const list = readListFilter(filter);
  if (list !== undefined) return list;
  const end = filter.indexOf(" ");
  const attribute = toAttribute(end === -1 ? filter : filter.slice(0, end));
  const plain = attribute === "emails.value" ? "emails" : attribute === "members.value" ? "members" : attribute;
  return { attribute: plain, value: readEqual(end === -1 ? "" : filter.slice(end), filter) };
}

/** Reads `members[value eq "…"]`, also as the path of a change; `undefined` for another form. */
export function readListFilter(text: string): Filter | undefined {
  const start = text.indexOf("[");
  if (start === -1 || !text.endsWith("]")) return undefined;
  const attribute = toAttribute(text.slice(0, start));
  const inner = text.slice(start + 1, -1).trim();
  if (!/^value\s/i.test(inner)) throw wrong(quote(text));
  return { attribute, value: readEqual(inner.slice("value".length), text) };
}

/** Reads ` eq "…"`, which the filter ends with. */
function readEqual(text: string, filter: string): string {
  const rest = text.trim();
  if (!/^eq\s/i.test(rest)) throw wrong(quote(filter));
  const value = parseJson(rest.slice("eq".length).trim());
  if (typeof value !== "string") throw wrong(quote(filter));
  return value;
}

function quote(text: string): string {
  return `is ${JSON.stringify(text.slice(0, 100))}`;
}

function wrong(fact: string) {
  const forms = 'userName eq "…", externalId eq "…", displayName eq "…"';
  return fault("invalidFilter", `The filter ${fact}, expected one attribute that equals a text, such as ${forms}`);
}
