import type { Administrator } from "../../src/audit/index.ts";
import type { Budget } from "../../src/contract/index.ts";
import type { TransactionScope } from "../../src/db/index.ts";
import { createBudget as create, eachAccount } from "../../src/tenants/index.ts";

type NewBudget = Omit<Budget, "id" | "isOfGateway"> & { readonly by: Administrator; readonly accountId: string };

/** Creates a budget and returns it as calls have it. */
export async function createBudget(
  store: TransactionScope,
  { by, accountId, subject, name, keyId, limitNanodollars, period, raise }: NewBudget,
  now: number,
): Promise<Budget & { readonly accountId: string }> {
  const { id } = await create(
    store,
    {
      by,
      accountId,
      subject,
      name: name ?? null,
      key_id: keyId ?? null,
      budget_nanodollars: limitNanodollars,
      budget_period: period,
      raise_nanodollars: raise?.nanodollars ?? null,
      raise_until: raise?.until ?? null,
    },
    now,
  );
  const isOfGateway = accountId === eachAccount ? true : undefined;
  return { id, accountId, isOfGateway, subject, name, keyId, limitNanodollars, period, raise };
}
