import useSWR, { mutate } from "swr";
import { refreshAccounts } from "../../data/admin.ts";
import { organization, readPages, request } from "../../data/api.ts";

const limitsOf = (account: string) => organization.projects({ project_id: account }).rate_limits;
const getLimits = (account: string) => readPages((query) => request(limitsOf(account).get({ query })));
const getSharedLimits = () => readPages((query) => request(organization.rate_limits.get({ query })));

/** Limits of an account or of one of its keys, for one model or for all models. */
export type RateLimit = Awaited<ReturnType<typeof getLimits>>[number];

/**
 * The limits of single models, for administrators.
 *
 * @param account Whose and whose keys' they are; absent: those for each account.
 */
export function useModelLimits(account?: string) {
  return useSWR(["model-limits", account], async () =>
    account === undefined ? await getSharedLimits() : (await getLimits(account)).filter(({ model }) => model !== "*"),
  );
}

export interface NewModelLimits {
  readonly model: string;
  /** `null`: all keys of the account together. */
  readonly api_key_id: string | null;
  readonly max_requests_per_1_minute: number | null;
  readonly max_tokens_per_1_minute: number | null;
  readonly max_concurrent_calls: number | null;
}

/**
 * Sets the limits of a model in place of those that it has there.
 *
 * @param account Absent: for each account, and so for none of their keys.
 */
export async function setModelLimits(account: string | undefined, limits: NewModelLimits): Promise<void> {
  const { api_key_id: _, ...shared } = limits;
  await (account === undefined
    ? request(organization.rate_limits.post(shared))
    : request(limitsOf(account).post(limits)));
  await mutate(["model-limits", account]);
}

export async function deleteModelLimits(account: string | undefined, id: string): Promise<void> {
  const limits = account === undefined ? organization.rate_limits : limitsOf(account);
  await request(limits({ rate_limit_id: id }).delete());
  await mutate(["model-limits", account]);
}

const getRoleLimits = () => readPages((query) => request(organization.role_limits.get({ query })));

/** Limits of a role. They apply to its accounts that have no limits of their own. */
export type RoleLimit = Awaited<ReturnType<typeof getRoleLimits>>[number];

export function useRoleLimits() {
  return useSWR("role-limits", getRoleLimits);
}

/** Sets the limits of a role; `null`: the default of the gateway. */
export async function setRoleLimits(
  role: RoleLimit["role"],
  limits: Omit<RoleLimit, "id" | "object" | "role">,
): Promise<void> {
  await request(organization.role_limits({ role }).post(limits));
  await Promise.all([mutate("role-limits"), refreshAccounts()]);
}
