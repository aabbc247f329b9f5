import { expect, test } from "bun:test";
import { withAdmin } from "../../unit/http/dashboard-http.ts";

interface Field {
  readonly name: string;
  readonly kind: string;
  readonly label: string;
}
interface Resource {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly paths: Readonly<Record<"project" | "gateway", string | null>>;
  readonly section: Readonly<Record<string, unknown>> | null;
}

const read = async () => {
  const { admin } = await withAdmin();
  const { data } = (await (await admin.get("/dashboard/api/admin/resources")).json()) as { data: Resource[] };
  return data;
};

test("the dashboard reads the fields of each managed thing from its declaration, by their names in the management API", async () => {
  const data = await read();
  expect(data.map(({ name }) => name).toSorted()).toEqual([
    "alert channel",
    "budget",
    "custom rule",
    "group role",
    "issuer",
    "limit",
    "markup",
    "policy",
    "re-route",
    "role limit",
    "voucher",
  ]);
  const fieldsOf = (name: string) => data.find((resource) => resource.name === name)?.fields;
  expect(fieldsOf("limit")).toMatchObject([
    { name: "model", kind: "choice", from: "models", isRequired: true, changes: false },
    { name: "api_key_id", kind: "choice", from: "keys", empty: "All API keys", isRequired: false, changes: false },
    { name: "max_requests_per_1_minute", kind: "figure", label: "Requests per minute", least: 1, changes: true },
    { name: "max_tokens_per_1_minute", kind: "figure", isHalf: true },
    { name: "max_concurrent_calls", kind: "figure", isNullable: true, isNumber: true },
  ]);
  expect(fieldsOf("budget")?.map(({ name, kind, label }) => [name, kind, label])).toEqual([
    ["subject", "choice", "Subject"],
    ["name", "text", "Name"],
    ["api_key_id", "choice", "With"],
    ["budget_usd", "usd", "Budget (USD)"],
    ["budget_period", "choice", "Period"],
    ["raise_usd", "usd", "Raise it by (USD)"],
    ["raise_until", "day", "Through (UTC)"],
  ]);
});

test("a managed thing without a page of its own has a section with words, and the others have none", async () => {
  const data = await read();
  const sections = data.flatMap(({ name, section }) => (section === null ? [] : [[name, section.title, section.page]]));
  expect(sections).toEqual([
    ["limit", "Limits of models", "budgets"],
    ["policy", "Policies", "configuration"],
    ["role limit", "Limits by role", "budgets"],
  ]);
  const limits = data.find(({ name }) => name === "limit");
  expect(limits?.paths).toEqual({
    project: "/organization/projects/:project_id/rate_limits",
    gateway: "/organization/rate_limits",
  });
});
