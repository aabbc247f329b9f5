import type {
  AccountRow,
  Accounts,
  AuditRow,
  DeedsPage,
  Payments,
  PaymentWish,
  Session,
  SignIn,
  Voucher,
} from "../accounts/index.ts";
import type {
  CallsElsewhere,
  CallsPage,
  Credit,
  CreditResult,
  DaySpan,
  LatestCalls,
  Period,
  RecentCall,
  StatementLine,
  UsageSums,
} from "../ledger/index.ts";
import type { Deeds } from "./deeds.ts";
import type { Operation } from "./operation.ts";

/** All that people who sign in may have done, those with the role for it. */
export interface Desk {
  readonly signIn: SignIn;
  readonly accounts: Pick<Accounts, "find" | "createKey" | "changeKey" | "listKeys" | "revokeKey">;
  /** Whether a stranger may make an account. */
  readonly signUp: "open" | "closed";
  /** Whether people can sign in by a provider of identities too. */
  readonly oidc: boolean;
  /** The daily quota of an account that has none of its own. */
  readonly freeTokensPerDay: number;
  acceptInvitation(given: { token: string; password: string }): Promise<{ email: string }>;
  listSessions(userId: string): Promise<Session[]>;
  /** Returns whether there was such a one of this person. */
  endSession(userId: string, id: string): Promise<boolean>;
  usage(accountId: string, asked: DaySpan & { readonly period: Period }): Promise<UsageSums>;
  statement(accountId: string): Promise<StatementLine[]>;
  recentCalls(accountId: string, asked: CallsPage): Promise<RecentCall[]>;
  /** Absent when they are those that were seen with this stamp. */
  latestCalls(
    accountId: string,
    asked: { readonly limit: number; readonly seen?: string | undefined },
  ): Promise<LatestCalls | undefined>;
  /** What other processes run, given the ids of what this one does; absent where it is the only one. */
  readonly callsElsewhere: ((ownIds: readonly string[]) => Promise<CallsElsewhere>) | undefined;
  /** A page of the accounts with the text in e-mail, name or id, from the one after an e-mail on. */
  searchAccounts(text: string, after: string): Promise<{ rows: AccountRow[]; next: string | undefined }>;
  /** By account id; of those that there are. */
  emailsOf(accountIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** What a payment is worth. */
  credit(credit: Credit): Promise<CreditResult>;
  listVouchers(): Promise<Voucher[]>;
  redeemedVouchers(accountId: string): Promise<Voucher[]>;
  redeemVoucher(given: { accountId: string; code: string }): Promise<{ nanodollars: number }>;
  /** Resolves when the store answers: for what is not to be begun while it is silent. */
  storeAnswers(): Promise<unknown>;
  /** Takes payments; absent: none are taken. */
  readonly payments: Payments | undefined;
  /** Says where the browser goes to pay. @throws {GatewayError} `not_found` where no payments are taken */
  beginPayment(wish: PaymentWish): Promise<{ url: string }>;
  readonly deeds: Deeds;
  /** The newest first. */
  listDeeds(page: DeedsPage): Promise<AuditRow[]>;
  readonly operation: Operation;
}
