/** Where policies apply: in the whole gateway, in an account, for a key or a model. A row names a policy, which a file defines. */
import { randomBytes } from "node:crypto";
import { Type } from "@sinclair/typebox";
import { GatewayError, optional, quoteValue } from "../contract/index.ts";
import type { PoliciesTable, Store, TransactionScope } from "../db/index.ts";
import { defineFields, textOrEmpty } from "../lib/fields.ts";
import { eachAccount, expectKeyOf, type OwnedBy, ownedRows } from "./owned-rows.ts";

/** The fields of a rule. Its policy and its place are fixed when it is created. */
export const policyRuleFields = defineFields<PoliciesTable>()({
  policy: {
    schema: Type.String({
      pattern: "^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
      maxLength: 100,
      description: "The name of the policy, which is that of its file in the plugins folder",
    }),
    column: "policy",
    form: { hint: "The name of its file in the plugins folder", empty: "no-projects" },
  },
  api_key_id: {
    schema: optional(Type.String({ minLength: 1, maxLength: 100, description: "`null`: all keys" })),
    column: "key_id",
    unit: textOrEmpty,
    form: { label: "With", from: "keys", empty: "All API keys" },
  },
  model: {
    schema: optional(
      Type.String({ minLength: 1, maxLength: 200, description: "Any name of the model; `null`: all models" }),
    ),
    column: "model",
    unit: textOrEmpty,
    form: { from: "models", empty: "All models" },
  },
  order: {
    schema: Type.Integer({ minimum: 0, maximum: 1_000_000, description: "Lower figures come first" }),
    column: "position",
    changes: true,
    form: { hint: "Lower figures come first", initial: "10" },
  },
  on_failure: {
    schema: Type.Union([Type.Literal("closed"), Type.Literal("open")], {
      description: "When the policy fails or its file is missing: `closed` refuses the call, `open` lets it pass",
    }),
    column: "on_failure",
    changes: true,
    form: {
      label: "When it fails, or its file is missing",
      choices: { closed: "Refuse the call", open: "Let the call pass" },
      initial: "closed",
    },
  },
});

/** A rule as it is stored. */
export type StoredPolicyRule = PoliciesTable;
type Changeable = Pick<PoliciesTable, "position" | "on_failure">;
/** Without a key and a model it is about all. */
export type NewPolicyRule = Pick<PoliciesTable, "policy"> &
  Changeable &
  Partial<Pick<PoliciesTable, "key_id" | "model">>;

const rows = ownedRows({
  table: "policies",
  things: "is no rule of a policy",
  action: "policy",
  actions: { change: "change", remove: "remove" },
  fields: policyRuleFields,
});
export const { read: readPolicyRule, change: changePolicyRule, remove: removePolicyRule } = rows;

/** All rules are in the memory of each process. */
const rulesMax = 1000;

/** @throws {GatewayError} `invalid_request`, `not_found`, `forbidden`; `conflict` for one that is there, or too many. */
export async function createPolicyRule(
  store: TransactionScope,
  { by, accountId, ...columns }: OwnedBy & NewPolicyRule,
  now: number,
): Promise<StoredPolicyRule> {
  checkPolicyRule({ ...columns, account_id: accountId });
  const row: StoredPolicyRule = {
    id: `pol_${randomBytes(9).toString("hex")}`,
    account_id: accountId,
    key_id: columns.key_id ?? "",
    model: columns.model ?? "",
    policy: columns.policy,
    position: columns.position,
    on_failure: columns.on_failure,
    created_at: now,
  };
  return await rows.inOwner(store, { by, accountId }, async (db) => {
    if (row.key_id !== "") await expectKeyOf(db, accountId, row.key_id);
    const { count } = await db
      .selectFrom("policies")
      .select(({ fn }) => fn.countAll().as("count"))
      .executeTakeFirstOrThrow();
    if (Number(count) >= rulesMax)
      throw new GatewayError("conflict", `There are ${rulesMax} rules of policies, the limit; remove one`);
    const made = await db
      .insertInto("policies")
      .values(row)
      .onConflict((conflict) => conflict.columns(["account_id", "key_id", "model", "policy"]).doNothing())
      .returningAll()
      .executeTakeFirst();
    if (made === undefined) {
      throw new GatewayError(
        "conflict",
        `The policy ${quoteValue(row.policy)} applies there already; change that rule`,
      );
    }
    await rows.record(db, by, "create", made, now);
    return made;
  });
}

/** Lists the rules of the gateway, then the rules of each account, in their order. @param accountIds Absent: all rules. */
export async function listPolicyRules(
  { db }: Pick<Store, "db">,
  accountIds?: readonly string[],
): Promise<StoredPolicyRule[]> {
  if (accountIds?.length === 0) return [];
  let query = db.selectFrom("policies").selectAll();
  if (accountIds !== undefined) query = query.where("account_id", "in", accountIds);
  return await query.orderBy("account_id").orderBy("position").orderBy("id").execute();
}

/** @throws {GatewayError} `invalid_request` for a rule that cannot be, whatever there is. */
export function checkPolicyRule({
  key_id: keyId = "",
  account_id: accountId,
}: Partial<NewPolicyRule> & { readonly account_id?: string | undefined }): void {
  if (keyId === "" || accountId !== eachAccount) return;
  const message = "api_key_id: needs the project that the key belongs to";
  throw new GatewayError("invalid_request", message, { param: "api_key_id" });
}
