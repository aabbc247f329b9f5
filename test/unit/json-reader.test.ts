import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const own = "it reads what the gateway wrote itself";

/**
 * Files that parse JSON on their own, in how many places, and why they may. Everything else goes through the bounded reader of
 * `src/lib/json.ts`: a new place is listed only where the gateway wrote what it reads.
 */
const exceptions: Readonly<Record<string, readonly [places: number, reason: string]>> = {
  "src/lib/json.ts": [10, "it is the reader"],
  "src/provider/credential.ts": [
    1,
    "it reads the outermost members of the operator's secret, and contract imports nothing",
  ],
  "src/keys/admin-keys.ts": [1, own],
  "src/identity/auth-http.ts": [1, "it reads the answers of the sign-in library in this process"],
  "src/keys/authenticator.ts": [2, own],
  "src/tenants/allowed-models.ts": [1, own],
  "src/tenants/budgets.ts": [1, own],
  "src/keys/key-fields.ts": [1, own],
  "src/tenants/model-limits.ts": [1, own],
  "src/identity/oidc/oidc-sign-in.ts": [1, "it reads the answers of the sign-in library in this process"],
  "src/audit/read-audit.ts": [1, own],
  "src/identity/sign-in.ts": [1, "it reads the answers of the sign-in library in this process"],
  "src/modules/alerts/channels.ts": [2, own],
  "src/modules/alerts/deliver.ts": [1, own],
  "src/modules/alerts/ledger-check.ts": [1, own],
  "src/mail/mail-server.ts": [2, own],
  "src/cli/commands/system.ts": [1, "it reads the readiness of the operator's own gateway"],
  "src/cli/serve-app.bun.ts": [1, own],
  "src/modules/content-log/content-box.ts": [1, own],
  "src/modules/content-log/content-keeper.ts": [1, own],
  "src/db/nodes.ts": [1, own],
  "src/http/admin-api/usage.ts": [2, own],
  "src/http/lifecycle/idempotency.ts": [1, own],
  "src/http/responses-socket/connection.ts": [1, own],
  "src/ledger/spool.ts": [1, own],
  "src/providers/actions.ts": [1, own],
  "src/providers/health.ts": [1, own],
  "src/providers/operator-catalogue.ts": [1, own],
  "src/providers/provider-settings.ts": [1, own],
  "src/providers/secret-box.ts": [1, own],
  "src/providers/state-file.ts": [1, own],
  "src/reports/incident.ts": [1, own],
  "src/reports/price-book.ts": [1, own],
  "src/reports/requests.ts": [1, own],
  "src/reports/statistics.ts": [1, own],
};

/** The page runs in a browser, which stops nobody else. */
const browser = /^src\/dashboard\//;

/** Also by another name, or with a type. */
const parses = /\bJSON\.parse\b|\bJSON\s*\[|=\s*JSON\b(?!\.)|\.json(?:<[^()]*>)?\(\s*\)/g;
const comment = /^\s*(?:\*|\/\*|\/\/)/;

function filesBelow(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.tsx?$/.test(name)).map((name) => `${folder}/${name}`);
}

const placesOf = (text: string) =>
  text.split("\n").flatMap((line) => (comment.test(line) ? [] : [...line.matchAll(parses)])).length;

test("JSON that a caller or a provider wrote is parsed in one file, which bounds it first", () => {
  const files = [...filesBelow("src"), ...filesBelow("plugins")].filter((path) => !browser.test(path));
  expect(files.length).toBeGreaterThan(300);
  const found = files.map((path) => [path, placesOf(readFileSync(join(root, path), "utf8"))] as const);
  const parsing = Object.fromEntries(found.filter(([, places]) => places > 0));
  const expected = Object.fromEntries(Object.entries(exceptions).map(([path, [places]]) => [path, places]));
  expect(parsing).toEqual(expected);
});

test("a place that parses JSON is found however it is written", () => {
  const written = [
    "const a = JSON.parse(text);",
    "await response.json()",
    "await response.json<Body>()",
    'JSON["parse"](text)',
    "const { parse } = JSON;",
  ];
  expect(written.map(placesOf)).toEqual(written.map(() => 1));
  expect(
    ["// JSON.parse(text)", "Response.json(body)", "JSON.stringify(a)", 'upstream.json("/a", b)'].map(placesOf),
  ).toEqual([0, 0, 0, 0]);
});
