import { afterAll, expect, test } from "bun:test";
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SecretBox } from "../../../src/providers/secret-box.ts";

const home = mkdtempSync(join(tmpdir(), "modelgate-secrets-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const boxOf = (secretsKey?: string) => new SecretBox({ home, secretsKey });
const given = "a-secrets-key-of-thirty-two-characters";

test("what one seals another with the same key opens, for the same owner alone", () => {
  const { secret, secretsId } = boxOf(given).seal("owner", "secret", false);
  expect(boxOf(given).open("owner", secretsId, secret)).toBe("secret");
  expect(boxOf(given).open("other", secretsId, secret)).toBeUndefined();
  expect(boxOf(`${given}!`).open("owner", secretsId, secret)).toBeUndefined();
  expect(boxOf().open("owner", secretsId, secret)).toBeUndefined();
  expect(boxOf(given).open("owner", secretsId, secret.with(20, (secret[20] as number) ^ 1))).toBeUndefined();
});

test("the file is created for the first secret alone, and then used", () => {
  expect(() => boxOf().seal("owner", "secret", false)).toThrow("has no key for stored secrets");
  expect(boxOf().id).toBeUndefined();
  const { secret, secretsId } = boxOf().seal("owner", "secret", true);
  expect(boxOf().open("owner", secretsId, secret)).toBe("secret");
  expect(boxOf().seal("owner", "secret", true).secretsId).toBe(secretsId);
  // The text counts and not its line end, so that the file can be copied by hand.
  writeFileSync(join(home, "secrets.key"), `${given}\r\n`);
  expect(boxOf().id).toBe(boxOf(given).id);
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("Who owns a file that root creates is not checked: this is not root");

test.skipIf(!isRoot)("the file that a command of root creates belongs to the owner of the home folder", () => {
  const owned = join(home, "owned");
  mkdirSync(owned);
  chownSync(owned, 65534, 65533);
  new SecretBox({ home: owned, secretsKey: undefined }).seal("owner", "secret", true);
  const { uid, gid, mode } = statSync(join(owned, "secrets.key"));
  expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 65534, gid: 65533, mode: 0o600 });
});

test("a file that cannot be read is refused with what to do", () => {
  const unreadable = join(home, "unreadable");
  mkdirSync(join(unreadable, "secrets.key"), { recursive: true });
  const box = new SecretBox({ home: unreadable, secretsKey: undefined });
  expect(() => box.id).toThrow(`secrets.key (EISDIR); give it to the user that runs the gateway`);
});
