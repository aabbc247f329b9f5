import { maskKey } from "../keys/api.ts";
import { type GroupName, groupNames, type StatisticsGroup } from "./api.ts";
import { isNamed } from "./query.ts";

const nameless: Readonly<Record<GroupName, string>> = {
  account: "No account",
  key: "No key",
  model: "Rejected",
  plugin: "Not sent to a provider",
  status: "Unknown",
  session: "No session",
  tag: "No tag",
  end_user: "No end user",
};

/** The name of a group on the screen. */
export function toGroupName({ value, name, account_name }: StatisticsGroup, group: GroupName): string {
  // Names that are too many to be counted apart.
  if (value === "*" && isNamed(group)) return "Further ones";
  if (value === "" || (group === "status" && value === "0")) return nameless[group];
  if (group === "account") return account_name ?? value;
  if (group === "model") return name ?? value;
  return group === "key" ? (name ?? maskKey(value)) : value;
}

/** The name of the grouping within a sentence. */
export function toWords(name: (typeof groupNames)[GroupName]): string {
  return name === groupNames.key ? name : name.toLowerCase();
}
