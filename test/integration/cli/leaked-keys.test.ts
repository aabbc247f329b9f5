import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { KeyCallers } from "../../../src/reports/index.ts";
import { type Bench, benchNow, makeBench } from "./fixture.ts";

let bench: Bench;
let input = "";
let made: { id: string; key: string };
beforeEach(async () => {
  input = "";
  bench = makeBench({ stdin: async () => input });
  await bench.run("account", "create", "--email", "ada@example.org");
  made = await bench.json("key", "create", "--account", "ada@example.org", "--name", "laptop");
});
afterEach(() => bench.remove());

describe("key find", () => {
  test("reads a text from standard input and says whose the key in it is, without repeating its secret", async () => {
    input = `2026-11-21 request failed: {"authorization":"Bearer ${made.key}"}\n`;
    const shown = await bench.run("key", "find");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toStartWith(
      `api key ${made.id}, “laptop” of ada@example.org: its secret, which WORKS; the key is active`,
    );
    expect(shown.stdout).toContain(`modelgate key revoke ${made.id}`);
    expect(shown.stdout).not.toContain(made.key.split("-").at(-1) as string);
    const json = { type: "api_key", id: made.id, status: "active", secret: "current", usable: true };
    expect(await bench.json("key", "find")).toMatchObject([{ ...json, email: "ada@example.org", last_used_at: null }]);
    const { key } = await bench.json<{ key: string }>("key", "rotate", made.id, "--grace-seconds", "0");
    const replaced = await bench.run("key", "find");
    expect(replaced.stdout).toContain("which does not work; the key is active");
    expect(replaced.stdout).not.toContain("to end it");
    input = key;
    await bench.run("key", "revoke", made.id);
    expect(await bench.json("key", "find")).toMatchObject([{ ...json, status: "revoked", usable: false }]);
    input = "sk-mg-unknown1-0123456789abcdef";
    const unknown = await bench.run("key", "find", "--json");
    expect(unknown.code).toBe(3);
    expect(JSON.parse(unknown.stdout)).toMatchObject([{ id: "unknown1", status: "not_found", usable: null }]);
    input = "no key at all";
    expect(await bench.run("key", "find")).toMatchObject({
      code: 3,
      stdout: "The text has no key or token of a gateway\n",
    });
    input = " ";
    expect((await bench.run("key", "find")).code).not.toBe(0);
  });
});

describe("key callers", () => {
  test("lists the networks and programs that used a key, and marks a new one", async () => {
    expect((await bench.run("key", "callers", made.id)).stdout).toBe("No use of this key is recorded\n");
    const store = await openStore({ file: getDatabaseFile({ home: bench.home }) });
    const callers = new KeyCallers({ store, retentionDays: 90, now: () => benchNow });
    callers.note(made.id, { network: "203.0.113.0/24", program: "OpenAI/Python" }, benchNow - 9 * 86_400_000);
    callers.note(made.id, { network: "45.9.148.0/24", program: "" }, benchNow - 60_000);
    await callers.flush();
    await store.close();
    const { stdout } = await bench.run("key", "callers", made.id);
    expect(stdout).toContain("203.0.113.0/24");
    expect(stdout).toMatch(/45\.9\.148\.0\/24 +- +1 .* new/);
    expect(await bench.json("key", "callers", made.id)).toMatchObject([
      { network: "45.9.148.0/24", program: "", requests: 1, is_new: true },
      { network: "203.0.113.0/24", program: "OpenAI/Python", is_new: false },
    ]);
    input = made.key;
    expect((await bench.run("key", "find")).stdout).toContain(
      "\n  from 45.9.148.0/24: 1 request, 2026-11-21 09:59 to 2026-11-21 09:59, new\n",
    );
    expect((await bench.run("key", "callers", "unknown1")).code).not.toBe(0);
  });
});
