import type { Finding } from "./rules.ts";
import type { OwnedSubject } from "./subject.ts";

type Place = Pick<Finding, "rule" | "about">;

/**
 * Returns the path of the dashboard's page that helps with an alert.
 *
 * @param isOfGateway Whether operators get the alert; otherwise the holder of the account does, who has other pages.
 */
export function toPage({ rule, about }: Place, isOfGateway: boolean): string {
  if (!isOfGateway) return toOwnPage({ rule, about });
  switch (rule) {
    case "calls_failing":
      return "/requests?status=failed";
    case "usage_estimated":
      return "/requests";
    case "model_retires":
      return "/admin/catalogue";
    case "store_failing":
    case "disk_full":
      return "/status";
    case "ledger_difference":
      return "/admin/alerts";
    case "wallet_low":
      return toAccountPage(about.id);
    case "metric":
      return toUsagePage(about);
    default:
      return toSubjectPage(about);
  }
}

function toOwnPage({ rule, about }: Place): string {
  if (rule === "wallet_low") return "/billing";
  return about.type === "key" ? "/keys" : "/statistics";
}

function toSubjectPage({ type, id, accountId }: OwnedSubject): string {
  if (type === "provider") return `/admin/providers/${encodeURIComponent(id)}`;
  if (type === "key") return `/admin/api-keys?${new URLSearchParams({ search: id })}`;
  if (type === "account") return `${toAccountPage(id)}?tab=budgets`;
  if (type === "session" && accountId !== undefined && id !== "") {
    return `/sessions?${new URLSearchParams({ session: id, account: accountId })}`;
  }
  return accountId === undefined ? "/admin/gateway" : `${toAccountPage(accountId)}?tab=budgets`;
}

/** The usage of what a custom rule measures. */
function toUsagePage({ type, id }: OwnedSubject): string {
  const filters = { account: "account", key: "key", model: "model", provider: "plugin" } as const;
  const filter = Object.entries(filters).find(([name]) => name === type)?.[1];
  return filter === undefined ? "/admin/gateway" : `/admin/gateway?${new URLSearchParams({ [filter]: id })}`;
}

const toAccountPage = (id: string) => `/admin/accounts/${encodeURIComponent(id)}`;

/** The address of a page; `null` where the gateway does not know its own. */
export function toLink(publicUrl: string | undefined, page: string): string | null {
  return publicUrl === undefined || page === "" ? null : `${publicUrl}${page}`;
}
