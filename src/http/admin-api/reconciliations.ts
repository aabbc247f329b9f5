import { Type } from "@sinclair/typebox";
import { createBillLookup } from "../../providers/index.ts";
import { BillError, describeDifference, reconcileBill, toBillColumn } from "../../reports/index.ts";
import { hasScope } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf } from "../forms/read-fields.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeWrite, lacksScope } from "./guard.ts";
import { invalid } from "./lists.ts";

/** Characters of a bill. */
const billMax = 500_000;

const Bill = formBody({
  content: Type.String({
    minLength: 1,
    maxLength: billMax,
    description: "CSV with the columns `day`, `model` and some of `requests`, `cost_usd` and the units of usage",
  }),
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 60, description: "Only calls that it served" })),
  tolerance_percent: Type.Optional(
    Type.Number({ minimum: 0, maximum: 99, description: "Smaller differences are left out; 0 by default" }),
  ),
});
const Reconciliation = Type.Object({
  object: Type.Literal("organization.reconciliation"),
  ok: Type.Boolean({ description: "Whether nothing differs" }),
  rows_compared: Type.Integer(),
  figures: Type.Array(Type.String()),
  differences: Type.Array(
    Type.Object({
      day: Type.String({ format: "date" }),
      model: Type.String(),
      figure: Type.String({ description: "`cost_usd`: what the provider is owed, before markups" }),
      ledger: Type.String({ description: "Exact decimal text" }),
      provider: Type.String({ description: "Exact decimal text" }),
    }),
  ),
});

/** The comparison of a provider's bill with the ledger. It changes nothing. */
export function reconciliationsController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/reconciliations" });
  return [
    route.post(
      "",
      async ({ admin, body: { content, provider, tolerance_percent: tolerance = 0 } }) => {
        if (!hasScope(admin.scopes, "usage", "read")) throw lacksScope(admin, "usage:read");
        const { plugins } = deps.snapshot();
        const modelOf = createBillLookup({ plugins, registry: deps.kernel.registry }, provider);
        await deps.rollup?.freshen();
        const bill = { name: "the bill", text: content };
        const comparison = { bill, modelOf, tolerance, plugin: provider };
        const { usage, differences } = await reconcileBill(deps.store, comparison).catch((error) => {
          throw error instanceof BillError ? invalid("content", error.message) : error;
        });
        return {
          object: "organization.reconciliation" as const,
          ok: differences.length === 0,
          rows_compared: usage.rows.size,
          figures: usage.figures.map(toBillColumn),
          differences: differences.map((one) => describeDifference(one, (model) => displayNameOf(deps, model))),
        };
      },
      {
        body: Bill,
        example: { content: "day,model,cost_usd\n2026-11-21,gpt-4.1,0.50", provider: "openai" },
        detail: describeWrite("Compare a provider's bill with the ledger", Reconciliation, {
          scope: ["usage", "read"],
          description: "By day and model. A row that only one side has counts as 0 on the other. Nothing is changed.",
        }),
      },
    ),
  ];
}
