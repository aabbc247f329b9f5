import type { DatabaseSync } from "node:sqlite";
import { namedSubjects } from "../../contract/index.ts";
import { type NamedSubject, namesOf } from "../budgets.ts";
import type { OpenCall } from "../ledger-records.ts";

/** A budget that counts calls by a name. What accounts and keys spend is counted always. */
interface CountedBudget {
  readonly no: number;
  readonly key_id: string | null;
  readonly subject: NamedSubject;
  readonly name: string | null;
}

/** Accounts whose budgets are known; beyond it they are read anew. */
const accountsMax = 10_000;

/**
 * The budgets that the end of a call counts for, as the database has them in the transaction that writes it: whoever makes a budget counts
 * the calls that ended before, and this all others.
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
