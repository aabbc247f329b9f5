import { sql } from "kysely";
import {
  type Accounts,
  acceptInvitation,
  createSignIn,
  emailsOf,
  endSession,
  listDeeds,
  listSessions,
  listVouchers,
  type OidcOptions,
  type Payments,
  paymentDesk,
  redeemedVouchers,
  redeemVoucher,
  searchAccounts,
} from "./accounts/index.ts";
import { type Config, describeConfig } from "./config.ts";
import type { Desk } from "./http/desk.ts";
import type { Log } from "./kernel/index.ts";
import {
  callsElsewhere,
  creditWallet,
  readLatestCalls,
  readRecentCalls,
  readStatement,
  readUsage,
} from "./ledger/index.ts";
import type { Shelf } from "./loader/index.ts";
import { openDeeds } from "./open-deeds.ts";
import { publicOriginOf } from "./public-origin.ts";
import type { Store } from "./store/index.ts";

interface DeskGround {
  readonly config: Config;
  readonly store: Store;
  readonly accounts: Accounts;
  readonly log: Log;
  /** What is on sale now. */
  readonly shelf: () => Pick<Shelf, "states" | "plugins">;
  readonly now: () => number;
  /** Takes payments in the place of what the configuration says. */
  readonly payments?: Payments;
}

/** What people who sign in may have done, over the store. */
export async function openDesk(ground: DeskGround): Promise<Desk> {
  const { config, store, accounts, log, now, shelf } = ground;
  const secret = await store.setting("session_secret", () => crypto.getRandomValues(new Uint8Array(32)).toHex());
  const report = (error: unknown) => log.error("sign_in_failed", { error });
  const payments = ground.payments ?? (await paymentsOf(config));
  const publicOrigin = publicOriginOf(config, config.port);
  return {
    storeAnswers: () => sql`select 1`.execute(store.db),
    payments,
    beginPayment: paymentDesk({
      payments,
      publicOrigin,
      now,
      report: (error) => log.error("payment_failed", { error }),
    }),
    signIn: createSignIn({ store, secret, signUp: config.signUp, now, report, oidc: oidcOf(config) }),
    signUp: config.signUp,
    oidc: config.oidcIssuer !== undefined,
    accounts,
    freeTokensPerDay: config.freeTokensPerDay,
    acceptInvitation: (given) => acceptInvitation(store, given, now()),
    listSessions: (userId) => listSessions(store, userId, now()),
    endSession: (userId, id) => endSession(store, userId, id),
    usage: (accountId, asked) => readUsage(store, accountId, asked),
    statement: (accountId) => readStatement(store, accountId),
    latestCalls: (accountId, asked) => readLatestCalls(store, accountId, asked),
    recentCalls: (accountId, asked) => readRecentCalls(store, accountId, asked),
    callsElsewhere: store.shared ? callsElsewhere(store) : undefined,
    searchAccounts: (text, after) => searchAccounts(store, text, after),
    emailsOf: (accountIds) => emailsOf(store, accountIds),
    credit: (credit) => creditWallet(store, credit, now),
    listVouchers: () => listVouchers(store),
    redeemedVouchers: (accountId) => redeemedVouchers(store, accountId),
    redeemVoucher: (given) => redeemVoucher(store, given, now()),
    deeds: openDeeds(store, now),
    listDeeds: (page) => listDeeds(store, page),
    operation: {
      plugins: () => shelf().states,
      settings: () => describeConfig(config, usable(shelf().plugins, config)),
    },
  };
}

/** Loaded where it is used: it is large. */
async function paymentsOf({ stripeSecretKey, stripeWebhookSecret }: Config): Promise<Payments | undefined> {
  if (stripeSecretKey === undefined || stripeWebhookSecret === undefined) return undefined;
  const { openStripe } = await import("./accounts/payments/stripe.ts");
  return openStripe({ secretKey: stripeSecretKey, webhookSecret: stripeWebhookSecret });
}

function oidcOf(config: Config): OidcOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { issuer, clientId, clientSecret, publicOrigin: publicOriginOf(config, config.port) };
}

/** Plugins with credentials that can be read; of the others their own state says what is wrong. */
function usable(plugins: Shelf["plugins"], config: Config): string[] {
  return plugins.flatMap(({ name }) => {
    try {
      config.credentials(name);
      return [name];
    } catch {
      return [];
    }
  });
}
