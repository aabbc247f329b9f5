/** Describes the declarations of managed things to the dashboard, which makes forms and tables from them. */
import { OptionalKind, type TSchema } from "@sinclair/typebox";
import {
  apiFields,
  expiry,
  type Field,
  type FieldForm,
  type Fields,
  membersOf,
  seconds,
  toWords,
  usd,
} from "../../lib/fields.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { resources } from "../resources/index.ts";
import { type AnyResource, pluralOf, type Resource, type SectionTexts } from "../resources/resource.ts";

/** GET /admin/resources: the fields of all managed things, and where they are read and written. */
export function resourcesController(deps: HttpDeps, ofModules: readonly AnyResource[]) {
  let data: ReturnType<typeof describeResource>[] | undefined;
  return [
    withAdminSession(deps, "/admin").get("/resources", () => {
      data ??= [...resources, ...ofModules].map(({ visit }) => visit((resource) => describeResource(resource)));
      return { data };
    }),
  ];
}

function describeResource<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  resource: Resource<Row, F, Derived>,
) {
  const { name, fields, mounts, verbs, secret = {}, section = {}, document } = resource;
  const pathOf = (kind: "project" | "gateway") => mounts.find(({ owner }) => owner === kind)?.path ?? null;
  const { page = "configuration", ofOwners = {}, ...texts } = section === "own" ? {} : section;
  const identity: readonly string[] = document?.identity ?? [];
  return {
    name,
    fields: Object.entries<Field<Row>>(apiFields<Fields<Row>>(fields)).map(([field, declared]) =>
      describeField(field, declared),
    ),
    /** The names of the fields that tell one from the others. */
    identity: Object.entries<Field<Row>>(fields).flatMap(([field, { apiName = field }]) =>
      identity.includes(field) ? [apiName] : [],
    ),
    paths: { project: pathOf("project"), gateway: pathOf("gateway") },
    /** The id of an entry that each account has in addition, and other forms change; `null`: none. */
    whole: mounts.flatMap(({ whole }) => whole?.id ?? [])[0] ?? null,
    verbs,
    /** The name of the property that only the answer to a creation has; `null`: none. */
    secret: Object.keys(secret)[0] ?? null,
    /** `null`: it has a page of its own. */
    section: section === "own" ? null : { page, ofOwners, ...textsOf(name), ...texts },
  };
}

/** The words of a section, made from the name of its thing. */
function textsOf(name: string): SectionTexts {
  return {
    title: toWords(pluralOf(name)),
    about: "",
    entry: `the ${name} {}`,
    add: `New ${name}`,
    form: "",
    submit: "Save",
    saved: `The ${name} is saved`,
    none: "–",
    empty: `No ${pluralOf(name)}`,
    emptyOfGateway: "",
    emptyOfAccount: "",
    removal: [`Delete this ${name}?`, `Delete ${name}`, "{} is deleted.", `The ${name} is deleted`],
  };
}

type Kind = "text" | "figure" | "decimal" | "usd" | "day" | "choice" | "check";

/** A field as its form shows it. */
function describeField<Row>(name: string, { schema, unit, changes, form = {} }: Field<Row>) {
  const members = membersOf(schema);
  const texts = [schema, ...members].flatMap(({ description }) => description ?? []);
  const values = members.flatMap((member) => (typeof member.const === "string" ? [member.const] : []));
  const labels: Readonly<Record<string, string>> = form.choices ?? {};
  const isNullable = members.some(({ type }) => type === "null");
  const [first] = members;
  const kind = kindOf(members, unit, form, values.length);
  return {
    name,
    kind,
    label: form.label ?? (unit === usd ? `${toWords(name.replace(/_usd$/, ""))} (USD)` : toWords(name)),
    hint: form.hint ?? (Object.keys(form).length === 0 ? texts[0]?.replaceAll("`", "") : undefined) ?? null,
    empty: form.empty ?? null,
    choices: (values.length === 0 ? Object.keys(labels) : values).map(
      (value) => [value, labels[value] ?? toWords(value)] as const,
    ),
    from: form.from ?? null,
    when: form.when ?? {},
    initial: form.initial ?? "",
    isRequired: !isNullable && schema[OptionalKind] === undefined,
    isNullable,
    isNumber: members.some(({ type }) => type === "integer"),
    isHalf: form.isHalf ?? ["figure", "decimal", "usd", "day"].includes(kind),
    changes: changes === true,
    lengthMax: Number(first?.maxLength ?? 1000),
    least: Number(first?.minimum ?? 0),
  };
}

function kindOf<Row>(members: readonly TSchema[], unit: Field<Row>["unit"], form: FieldForm, values: number): Kind {
  if (unit === usd) return "usd";
  if (unit === seconds || unit === expiry) return "day";
  if (members.some(({ type }) => type === "boolean") || values === 1) return "check";
  if (values > 0 || form.choices !== undefined || form.from !== undefined) return "choice";
  if (members.some(({ type }) => type === "integer")) return "figure";
  return form.isDecimal === true ? "decimal" : "text";
}
