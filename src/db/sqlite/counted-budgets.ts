import type { DatabaseSync } from "node:sqlite";
import { namedSubjects } from "../../contract/index.ts";
import { type NamedSubject, namesOf } from "../budgets.ts";
import type { OpenCall } from "../ledger-records.ts";

/** A budget that counts calls by a name. The spending of accounts and keys is always counted. */
interface CountedBudget {
  readonly no: number;
  readonly key_id: string | null;
  readonly subject: NamedSubject;
  readonly name: string | null;
}

/** Maximum number of accounts with budgets in memory; beyond it all are read again. */
const accountsMax = 10_000;

/**
 * The budgets that the end of a call counts for, as they are in the database in the transaction that writes it. The
 * creation of a budget counts the calls that ended earlier; this class counts all later calls.
 */
export class CountedBudgets {
  readonly #read: ReturnType<DatabaseSync["prepare"]>;
  readonly #budgets = new Map<string, readonly CountedBudget[]>();

  constructor(database: DatabaseSync) {
    this.#read = database.prepare(`select no, key_id, subject, name from budgets
      where account_id in ('', +?1) and subject in (${namedSubjects.map((subject) => `'${subject}'`)})`);
  }

  /** This process or another may have made a budget. */
  forget(): void {
    this.#budgets.clear();
  }

  /** The numbers of the budgets that count a call, with the name under which each counts it. */
  *countedBy(open: OpenCall): Generator<{ readonly no: number; readonly name: string; readonly isSession: boolean }> {
    const { accountId, keyId } = open;
    let budgets = this.#budgets.get(accountId);
    if (budgets === undefined) {
      budgets = this.#read.all(accountId) as unknown as CountedBudget[];
      if (this.#budgets.size >= accountsMax) this.#budgets.clear();
      this.#budgets.set(accountId, budgets);
    }
    if (budgets.length === 0) return;
    const names = namesOf(open);
    for (const budget of budgets) {
      const name = names[budget.subject];
      const isOfKey = budget.key_id === null || budget.key_id === keyId;
      if (isOfKey && (budget.name === null || budget.name === name)) {
        yield { no: budget.no, name, isSession: budget.subject === "session" };
      }
    }
  }
}
