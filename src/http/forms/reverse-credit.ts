import { type Administrator, createAudited } from "../../audit/index.ts";
import { formatUsd } from "../../contract/index.ts";
import type { TransactionScope } from "../../db/index.ts";
import { type CreditToReverse, type Reversal, reverseCredit } from "../../ledger/index.ts";

/** Reverses a credit and writes its audit entry, in one transaction. @throws as {@link reverseCredit} */
export function reverseAudited(
  store: TransactionScope,
  { by, ...credit }: { readonly by: Pick<Administrator, "accountId"> } & CreditToReverse,
  now: () => number,
): Promise<Reversal> {
  return createAudited(store, now)(
    (scope) => reverseCredit(scope, credit, now),
    ({ accountId, nanodollars, note }) => {
      const detail = { usd: formatUsd(-nanodollars), note, transaction: credit.transactionId };
      return { accountId: by.accountId, action: "account.reverse", subject: accountId, detail };
    },
  );
}
