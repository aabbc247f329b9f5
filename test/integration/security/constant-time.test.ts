import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { equalHashes } from "../../../src/keys/api-key.ts";

const source = join(import.meta.dir, "../../../src");
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

/** Files that hash without comparing, and why. */
const compareNone: Readonly<Record<string, string>> = {
  "protocols/messages/inbound.ts": "a long name of a tool and a long id of a user are shortened",
  "protocols/responses/inbound.ts": "a long name of a tool is shortened",
  "protocols/reasoning.ts": "the id of an account's key is made from it; what is sealed is proved by AES-GCM",
  "modules/alerts/subject.ts": "the id of an alert is made from its problem and its begin",
  "modules/alerts/webhook.ts": "messages are signed for their receivers",
  "app.ts": "a key is made from a secret",
  "identity/attempt-limit.ts": "attempts are counted by an e-mail's hash",
  "tenants/invitations.ts": "an invitation is found by its token's hash, in an index",
  "identity/oauth/codes.ts": "a code is found by its hash, in an index",
  "identity/oauth/grants.ts": "tokens are compared by equalHashes, in constant time",
  "identity/oauth/requests.ts": "a challenge is no secret, and a wrong verifier uses its code up",
  "identity/verify-email.ts": "a link is found by its user, and its token's hash, in the database",
  "tenants/team-invitations.ts": "an invitation is found by its token's hash, in an index",
  "keys/foreign-key.ts": "a key of another gateway is found by its hash, in an index",
  "cli/import/litellm.ts": "a key of another gateway is hashed before it is stored",
  "cli/import/new-api.ts": "a key of another gateway is hashed before it is stored",
  "cli/import/settle-plan.ts": "the address of a team is made from it",
  "db/payers.ts": "the number of an account or key is made from its id",
  "http/api/managed-settings.ts": "a file's version",
  "http/lifecycle/constant-document.ts": "a document's version",
  "keys/keys.ts": "the id of a token's key is made from its subject",
  "identity/tokens/token-authenticator.ts": "a token is found by its hash, in memory, after it was verified",
  "tenants/sign-in-address.ts": "a placeholder address is made from it",
  "modules/payments/vouchers.ts": "a voucher is found by its code's hash, in an index",
  "http/admin-api/guard.ts": "a repeated request is found by its hash, in an index",
  "http/lifecycle/idempotency.ts": "a repeated request is found by its hash, in an index",
  "http/lifecycle/static-assets.ts": "a file's version",
  "contract/price.ts": "the version of a price",
  "db/migrations/migration.ts": "the version of a migration",
  "reports/requests.ts": "a list's version",
  "db/blobs.ts": "the files of an account are counted by a hash of its id",
  "providers/find-sources.ts": "a file's version",
  "providers/operator-catalogue.ts": "the version of files",
  "providers/provider-files.ts": "the version of a file",
  "kernel/prompt-caching.ts": "the name of a session for a provider is made from it",
  "kernel/upstream/web-socket.ts": "RFC 6455 proves with it that a server has read a handshake",
  "ledger/spool.ts": "a line that was torn is found by its checksum",
  "providers/secret-box.ts": "a key and its id are made from a secret",
};

test("every file that hashes secrets compares in constant time", () => {
  const hashing = files.filter((name) =>
    /import \{[^}]*\b(createHmac|createHash|scrypt)\b[^}]*\} from "node:crypto"/.test(
      readFileSync(join(source, name), "utf8"),
    ),
  );
  expect(hashing.length).toBeGreaterThan(4);
  const careless = hashing.filter((name) => !readFileSync(join(source, name), "utf8").includes("timingSafeEqual("));
  expect(careless.filter((name) => compareNone[name] === undefined)).toEqual([]);
});

/** There a digest is a report that is sent by mail. */
const reports = /^modules\/alerts\/(?:alert-actions|channel-fields|channels)\.ts: digest\b/;

test("no hash, signature or token is compared with ===", () => {
  const compared = files.flatMap((name) => {
    const found = readFileSync(join(source, name), "utf8").match(
      /(?<!typeof )\b(\w*(?:[sS]ignature|[hH]mac|secretHash|digest))\s*[!=]==\s*(?!undefined|null|"")\S+/g,
    );
    return (found ?? []).map((text) => `${name}: ${text}`);
  });
  expect(compared.filter((text) => !reports.test(text))).toEqual([]);
});

test("a hash equals only itself, whatever the length of the other", () => {
  const hash = new Uint8Array(32).fill(7);
  expect(equalHashes(hash, new Uint8Array(32).fill(7))).toBe(true);
  for (const other of [new Uint8Array(32), new Uint8Array(31).fill(7), new Uint8Array(0)])
    expect(equalHashes(hash, other)).toBe(false);
});
