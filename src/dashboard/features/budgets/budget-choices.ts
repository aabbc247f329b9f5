import type { BudgetPeriod, BudgetSubject } from "./api.ts";

/** The calls that a new budget counts, as far as the form has them. */
export interface BudgetChoice {
  /** Over each account, not over one. */
  readonly isOfGateway: boolean;
  readonly subject: BudgetSubject;
  readonly whose: "each" | "one";
}

const subjects: readonly (readonly [BudgetSubject, string])[] = [
  ["end_user", "End users"],
  ["tag", "Tags"],
  ["session", "Sessions"],
  ["model", "Models"],
  ["key", "API keys"],
];

export function subjectsOf(isOfGateway: boolean): readonly (readonly [BudgetSubject, string])[] {
  return isOfGateway
    ? [["account", "Accounts"], ["team", "Teams"], ...subjects]
    : [...subjects, ["account", "The whole account"]];
}

const calendar = [
  ["day", "a day"],
  ["week", "a week"],
  ["month", "a month"],
] as const;

/** The periods that a budget can change between. */
export const calendarPeriods: readonly (readonly [BudgetPeriod, string])[] = calendar;

interface Periods {
  readonly options: readonly (readonly [BudgetPeriod, string])[];
  readonly refused?: readonly BudgetPeriod[];
  /** Why there are no others. */
  readonly reason?: string;
}

/** The periods that a budget can have. */
export function periodsOf({ subject, whose }: BudgetChoice): Periods {
  if (subject === "session") {
    const reason = "A session goes on over midnight: its budget begins again when it has been silent for a day";
    return { options: [["session", "until silent for a day"]], reason };
  }
  const options = [...calendar, ["lifetime", "in all"]] as const;
  if (whose === "one" || (subject !== "end_user" && subject !== "tag")) return { options };
  const reason =
    "“In all” is for one of them by name: clients make up names, and the sum of each would be kept for ever";
  return { options, refused: ["lifetime"], reason };
}

/** Whether a budget is of an account or a team as a whole, so nothing in it is named. */
export function isWhole({ subject }: Pick<BudgetChoice, "subject">): boolean {
  return subject === "account" || subject === "team";
}

/** Why a budget cannot be of one subject by name; `undefined` where it can. */
export function whyEach({ isOfGateway, subject }: Omit<BudgetChoice, "whose">): string | undefined {
  if (!isOfGateway) return undefined;
  if (isWhole({ subject })) return `The budget of one ${subject} is set on its own page`;
  return subject === "key" ? "The budget of one key is set on the page of its account" : undefined;
}
