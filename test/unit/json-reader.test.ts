import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const own = "it reads what the gateway wrote itself";

/** Files that parse JSON on their own, and why they may. Everything else goes through the bounded reader of `src/lib/json.ts`. */
const exceptions: Readonly<Record<string, string>> = {
  "src/lib/json.ts": "it is the reader",
  "src/contract/credential.ts":
    "the operator's own secret, of which the outermost members are read; contract imports nothing",
  "src/accounts/admin-keys.ts": own,
  "src/accounts/auth-http.ts": "it reads the answers of the sign-in library in this process",
  "src/accounts/authenticator.ts": own,
  "src/accounts/budgets.ts": own,
  "src/accounts/key-fields.ts": own,
  "src/accounts/model-limits.ts": own,
  "src/accounts/oidc/oidc-sign-in.ts": "it reads the answers of the sign-in library in this process",
  "src/accounts/read-audit.ts": own,
  "src/accounts/sign-in.ts": "it reads the answers of the sign-in library in this process",
  "src/alerts/channels.ts": own,
  "src/alerts/deliver.ts": own,
  "src/alerts/ledger-check.ts": own,
  "src/alerts/settings.ts": own,
  "src/cli/commands/system.ts": "it reads the readiness of the operator's own gateway",
  "src/cli/serve-app.bun.ts": own,
  "src/content-log/content-box.ts": own,
  "src/content-log/content-keeper.ts": own,
  "src/http/admin-api/usage.ts": own,
  "src/http/dashboard-api/request-json.ts": own,
  "src/http/lifecycle/idempotency.ts": own,
  "src/providers/actions.ts": own,
  "src/providers/health.ts": own,
  "src/providers/operator-catalogue.ts": own,
  "src/providers/provider-settings.ts": own,
  "src/providers/secret-box.ts": own,
  "src/providers/state-file.ts": own,
  "src/reports/statistics.ts": own,
};

/** The page runs in a browser, which stops nobody else. */
const browser = /^src\/dashboard\//;

const parses = /\bJSON\.parse\b|\.json\(\)/;
const comment = /^\s*(?:\*|\/\*|\/\/)/;

function filesBelow(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.tsx?$/.test(name)).map((name) => `${folder}/${name}`);
}

test("JSON that a caller or a provider wrote is parsed in one file, which bounds it first", () => {
  const files = [...filesBelow("src"), ...filesBelow("plugins")].filter((path) => !browser.test(path));
  expect(files.length).toBeGreaterThan(300);
  const parsing = files.filter((path) => {
    const lines = readFileSync(join(root, path), "utf8").split("\n");
    return lines.some((line) => parses.test(line) && !comment.test(line));
  });
  expect(parsing.filter((path) => !(path in exceptions))).toEqual([]);
  expect(Object.keys(exceptions).filter((path) => !parsing.includes(path))).toEqual([]);
});
