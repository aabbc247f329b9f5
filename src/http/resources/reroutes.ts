import { Type } from "@sinclair/typebox";
import { GatewayError, nullable, quoteValue } from "../../contract/index.ts";
import {
  changeReroute,
  checkReroute,
  createReroute,
  describeEffect,
  listReroutes,
  type NewReroute,
  type RerouteEffect,
  readReroute,
  removeReroute,
  rerouteFields,
  type StoredReroute,
} from "../../providers/index.ts";
import { eachAccount } from "../../tenants/index.ts";
import { defineResource, pageOf } from "./resource.ts";

interface DerivedOfReroute extends RerouteEffect {
  readonly object: "organization.reroute";
  readonly name: string;
  readonly to_model: string | null;
  readonly created_at: number;
}

const creates =
  "From the next call on, another model answers, without a change by clients. The answer names the model that answered, in " +
  "`model` and in the header `x-modelgate-model`, and what answers is charged. What it cannot serve, such as a request with " +
  "tools, is served by the requested model as before. A key that may use the re-routed model needs no right to use the other.";

/** Operator's orders that another model answers for a model, or for the models of a provider. */
export const reroutes = defineResource<StoredReroute, typeof rerouteFields, DerivedOfReroute>()({
  name: "re-route",
  area: "providers",
  idName: "reroute_id",
  fields: rerouteFields,
  derived: {
    object: Type.Literal("organization.reroute"),
    name: Type.String(),
    to_model: nullable(Type.String()),
    is_effective: nullable(
      Type.Boolean({
        description: "`false`: it has no effect now, and calls go on as before; `null`: not known",
      }),
    ),
    ineffective_reason: nullable(Type.String({ description: "Why it has no effect" })),
    created_at: Type.Integer(),
  },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.reroute.deleted",
  mounts: [
    {
      path: "/organization/reroutes",
      owner: "gateway",
      lists: "Those that have not ended.",
      creates,
      changes: "`null` in `ends_at`: until it is removed.",
    },
  ],
  document: {
    section: "reroutes",
    description: "Models that other models answer for until a time; one that has ended is not listed",
    identity: ["subject", "name"],
    label: ({ subject, name }) => `${subject} ${name}`,
    check: (columns, { now, present }) => checkReroute({ ...present, ...columns }, now),
  },
  commands: {
    group: "reroute",
    create: "--subject provider --name anthropic --to-model gpt-4.1 --until 2h",
    change: "ID --until 18:00",
  },
  section: "own",
  eachOwner: eachAccount,
  isServedBy: true,
  ownerOf: () => eachAccount,
  async resolve({ modelIdOf }, columns) {
    const { subject, name, to_model: toModel } = columns;
    return {
      ...columns,
      ...(subject === "model" && name !== undefined && { name: await modelIdOf(name) }),
      ...(toModel != null && { to_model: await modelIdOf(toModel) }),
    };
  },
  list: async ({ store, now }, _, page) => pageOf(await listReroutes(store, now()), page),
  read: ({ store, now }, _, id) => readReroute(store, id, now()),
  create: async ({ store, served, findProvider, now, modelNameOf: nameOf }, by, _, columns) => {
    const { subject, name } = columns as NewReroute;
    if (subject === "provider") expectProvider(findProvider, name);
    return await createReroute(store, columns as NewReroute, { by, served, now: now(), nameOf });
  },
  change: ({ store, served, now, modelNameOf: nameOf }, by, { id }, changes) =>
    changeReroute(store, { id, changes }, { by, served, now: now(), nameOf }),
  remove: ({ store, now }, by, { id }) => removeReroute(store, id, { by, now: now() }),
  async derive({ store, now, modelNameOf, readServed }, rows) {
    const served = await readServed();
    const all = await listReroutes(store, now());
    const ids = rows.flatMap(({ subject, name, to_model: to }) => [...(subject === "model" ? [name] : []), to ?? []]);
    const names = new Map(await Promise.all(ids.flat().map(async (id) => [id, await modelNameOf(id)] as const)));
    return ({ created_at: at, ...row }) => ({
      object: "organization.reroute",
      name: row.subject === "model" ? (names.get(row.name) ?? row.name) : row.name,
      to_model: row.to_model === null ? null : (names.get(row.to_model) ?? row.to_model),
      ...describeEffect(row, all, served),
      created_at: Math.floor(at / 1000),
    });
  },
});

function expectProvider(findProvider: (name: string) => string | undefined, name: string): void {
  if (findProvider(name) !== undefined) return;
  throw new GatewayError("invalid_request", `name: No provider is called ${quoteValue(name)}`, { param: "name" });
}
