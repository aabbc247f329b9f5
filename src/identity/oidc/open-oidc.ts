import { AsyncLocalStorage } from "node:async_hooks";
import { betterAuth } from "better-auth";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import type { Configuration } from "openid-client";
import { identityProvider } from "../../audit/index.ts";
import type { Role, Store } from "../../db/index.ts";
import {
  createUser,
  findAccount,
  giveToHolder,
  isInvited,
  newAccountRow,
  toSignInAddress,
} from "../../tenants/index.ts";
import { type AuthOptions, authOptions, recordSignIns } from "../better-auth.ts";
import { shareFreeQuota } from "../mailbox.ts";
import { type Identity, type OidcOptions, readIdentity } from "./identity-provider.ts";
import { changeRoleAtSignIn } from "./role-claim.ts";

/** The provider's id in better-auth's tables and addresses. */
const oidcProvider = "oidc";

export interface OidcSignInOptions extends AuthOptions {
  readonly oidc: OidcOptions;
  readonly signUp: "open" | "closed";
  readonly now: () => number;
}

/**
 * better-auth's OAuth plugin, which keeps state and PKCE verifier, links the user and makes the session. Code and ID token
 * are openid-client's, since the plugin reads ID tokens without checking them; no token reaches better-auth.
 */
export function openOidc(options: OidcSignInOptions, config: Configuration): (request: Request) => Promise<Response> {
  const { store, oidc, signUp, now } = options;
  const shared = authOptions(options);
  const metadata = config.serverMetadata();
  const redirectUri = `${oidc.publicOrigin}/api/auth/oauth2/callback/${oidcProvider}`;
  const provider = {
    providerId: oidcProvider,
    clientId: oidc.clientId,
    clientSecret: oidc.clientSecret,
    issuer: metadata.issuer,
    requireIssuerValidation: metadata.authorization_response_iss_parameter_supported === true,
    authorizationUrl: metadata.authorization_endpoint as string,
    tokenUrl: metadata.token_endpoint as string,
    redirectURI: redirectUri,
    scopes: oidc.scopes.split(" "),
    pkce: true,
    disableSignUp: true,
    async getToken({ code, codeVerifier = "" }: { code: string; codeVerifier?: string | undefined }) {
      return { raw: { identity: await readIdentity(config, { code, codeVerifier, redirectUri }, oidc.roles) } };
    },
    async getUserInfo({ raw }: { raw?: Record<string, unknown> | undefined }) {
      const claims = raw?.identity as Identity;
      Object.assign(signingIn.getStore() ?? {}, { role: claims.role });
      // A subject is unique only together with its issuer, which has no fragment: another issuer may give it to another
      // person.
      const identity = { ...claims, id: `${metadata.issuer}#${claims.id}` };
      if (!(await mayLink(store, identity, metadata.issuer))) return toUserInfo({ ...identity, emailVerified: false });
      await admitIdentity(store, identity, { signUp, now: now() });
      return toUserInfo(identity);
    },
  };
  /** The role for the user whom this sign-in turns out to be: known only once better-auth has admitted them. */
  const signingIn = new AsyncLocalStorage<{ role: Role | undefined }>();
  const applyRole = async ({ userId }: { userId: string }) => {
    const role = signingIn.getStore()?.role;
    if (role !== undefined) await changeRoleAtSignIn(store, { userId, role }, now());
  };
  const auth = betterAuth({
    ...shared,
    databaseHooks: { session: { create: { before: applyRole, after: recordSignIns(options) } } },
    account: { ...shared.account, updateAccountOnSignIn: false },
    onAPIError: { ...shared.onAPIError, errorURL: "/" },
    plugins: [genericOAuth({ config: [provider] })],
  });
  return (request) => signingIn.run({ role: undefined }, () => auth.handler(request));
}

/** better-auth finds users by the address under which they are stored here. */
function toUserInfo({ id, email, emailVerified, name }: Identity) {
  const address = email === undefined ? undefined : toSignInAddress(email);
  return { id, email: address as string, emailVerified, name: name ?? email ?? id };
}

/**
 * Whether the user of an e-mail may be linked to an identity, which they may not if they are another person at this
 * issuer. Issuers give the e-mail of a person who has left to the next person of that name.
 */
async function mayLink(store: Store, { id, email }: Identity, issuer: string): Promise<boolean> {
  if (email === undefined) return true;
  const others = await store.db
    .selectFrom("credentials")
    .innerJoin("users", "users.id", "credentials.user_id")
    .select("credentials.provider_account_id as id")
    .where("users.email", "=", toSignInAddress(email))
    .where("credentials.provider_id", "=", oidcProvider)
    .execute();
  return others.every((other) => other.id === id || !other.id.startsWith(`${issuer}#`));
}

/**
 * Creates the user of a verified e-mail if it does not exist: for the account of that e-mail, or for a new account if
 * sign-up is open or a team has invited the address. Otherwise there is no user, and better-auth refuses the sign-in.
 * An account whose e-mail was only claimed at a sign-up is replaced: it neither keeps the owner of the address out, nor
 * lets a person in who could not have an account.
 */
async function admitIdentity(
  store: Store,
  { id, email, emailVerified, name }: Identity,
  { signUp, now }: { signUp: "open" | "closed"; now: number },
): Promise<void> {
  if (email === undefined || !emailVerified) return;
  const credential = await store.db
    .selectFrom("credentials")
    .select("id")
    .where("provider_id", "=", oidcProvider)
    .where("provider_account_id", "=", id)
    .executeTakeFirst();
  if (credential !== undefined) return;
  const account = await findAccount(store, email);
  const isClosed = signUp === "closed";
  const isClaimed = account?.holder === "claimed";
  if ((account === undefined || isClaimed) && isClosed && !(await isInvited(store, email, now))) return;
  if (isClaimed) {
    const { id: accountId } = account;
    await store.change(async (db) => {
      await giveToHolder(db, { accountId, by: identityProvider.accountId }, now);
      await shareFreeQuota(db, { accountId, shared: store.shared }, now);
    });
    return;
  }
  await store.db.transaction().execute(async (db) => {
    let accountId = account?.id;
    if (accountId === undefined) {
      const row = { ...newAccountRow({ email, name }, now), free_tokens_per_day: isClosed ? 0 : null };
      await db.insertInto("accounts").values(row).execute();
      accountId = row.id;
    }
    // A user who exists is not changed.
    await createUser(db, { accountId, role: "member", emailVerified: true }, now);
    if (account === undefined) await shareFreeQuota(db, { accountId, shared: store.shared }, now);
  });
}
