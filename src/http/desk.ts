import type {
  Account,
  AccountRow,
  Accounts,
  AuditRow,
  Deed,
  Payments,
  PaymentWish,
  Session,
  SignIn,
  Voucher,
} from "../accounts/index.ts";
import type {
  CallsPage,
  Credit,
  CreditResult,
  DaySpan,
  Period,
  RecentCall,
  StatementLine,
  UsageSums,
} from "../ledger/index.ts";
import type { Operation } from "./operation.ts";

/** All that people who sign in may have done, those with the role for it. */
export interface Desk {
  readonly signIn: SignIn;
  readonly accounts: Pick<
    Accounts,
    "find" | "createKey" | "changeKey" | "listKeys" | "revokeKey" | "setQuota" | "setDisabled"
  >;
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
  /** A page of the accounts with the text in e-mail, name or id, from the one after an e-mail on. */
  searchAccounts(text: string, after: string): Promise<{ rows: AccountRow[]; next: string | undefined }>;
  /** By account id; of those that there are. */
  emailsOf(accountIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  createAccount(fields: { email: string; name?: string | undefined }): Promise<Account>;
  invite(accountId: string): Promise<{ token: string; expiresAt: number }>;
  credit(credit: Credit): Promise<CreditResult>;
  createVoucher(voucher: {
    nanodollars: number;
    expiresAt?: number | undefined;
  }): Promise<{ id: string; code: string }>;
  listVouchers(): Promise<Voucher[]>;
  redeemedVouchers(accountId: string): Promise<Voucher[]>;
  voidVoucher(idOrCode: string): Promise<{ id: string }>;
  redeemVoucher(given: { accountId: string; code: string }): Promise<{ nanodollars: number }>;
  /** Takes payments; absent: none are taken. */
  readonly payments: Payments | undefined;
  /** Says where the browser goes to pay. @throws {GatewayError} `not_found` where no payments are taken */
  beginPayment(wish: PaymentWish): Promise<{ url: string }>;
  recordDeed(deed: Deed): Promise<void>;
  /** The newest first, from before a time on. */
  listDeeds(before: number | undefined): Promise<AuditRow[]>;
  readonly operation: Operation;
}
