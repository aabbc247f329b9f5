import { Type } from "@sinclair/typebox";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { suggestName } from "../../lib/did-you-mean.ts";
import {
  changeMarkup,
  checkMarkup,
  deleteMarkup,
  eachAccount,
  listMarkups,
  markupFields,
  type NewMarkup,
  readMarkup,
  type StoredMarkup,
  setMarkup,
} from "../../tenants/index.ts";
import { defineResource } from "./resource.ts";

const creates =
  "Replaces the markup that is there. It applies from the next call on, over whatever price is in force then. The most specific " +
  "one counts: that of the project, of the model (`markupPercent` of its price), of its provider, of the gateway.";

/** Percentages that accounts pay above the prices of providers: one for all, one for each provider, or one of an account. */
export const markups = defineResource<StoredMarkup, typeof markupFields, { object: "organization.markup" }>()({
  name: "markup",
  area: "accounts",
  idName: "markup_id",
  fields: markupFields,
  derived: { object: Type.Literal("organization.markup") },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.markup.deleted",
  mounts: [
    {
      path: "/organization/projects/:project_id/markups",
      owner: "project",
      lists: "At most one, which takes the place of all others for this project.",
      creates,
    },
    {
      path: "/organization/markups",
      owner: "gateway",
      lists: "For projects without a markup of their own.",
      creates,
    },
  ],
  document: {
    section: "markups",
    description: "Percentages above the prices of providers, at which calls are sold",
    identity: ["provider"],
    label: ({ provider }) => String(provider ?? "all prices"),
    each: "each account",
    check(columns, { owner, present, providers }) {
      checkMarkup({ ...present, ...(columns as Partial<NewMarkup>), account_id: owner });
      const { provider = "" } = columns;
      if (present === undefined && provider !== "" && !providers.includes(provider)) {
        throw unknownProvider(provider, suggestName(provider, providers));
      }
    },
  },
  commands: {
    create: "--provider openai --markup-percent 20",
    change: "ID --markup-percent 12.5",
  },
  section: "own",
  eachOwner: eachAccount,
  isServedBy: true,
  ownerOf: ({ account_id }) => account_id,
  list: ({ store }, owners, page) => listMarkups(store, owners, page),
  read: ({ store }, owner, id) => readMarkup(store, owner, id),
  create: async ({ store, findProvider, now }, by, accountId, columns) => {
    const { provider } = columns;
    if (provider !== undefined && provider !== "" && findProvider(provider) === undefined) {
      throw unknownProvider(provider);
    }
    return await setMarkup(store, { by, accountId, ...(columns as NewMarkup) }, now());
  },
  change: ({ store, now }, by, { owner: accountId, id }, changes) =>
    changeMarkup(store, { by, accountId, id, changes }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => deleteMarkup(store, { by, accountId, id }, now()),
  derive: async () => () => ({ object: "organization.markup" }),
});

/** @param hint What else may have been meant. */
function unknownProvider(name: string, hint = ""): GatewayError {
  const message = `provider: No provider is called ${quoteValue(name)}${hint}`;
  return new GatewayError("invalid_request", message, { param: "provider" });
}
