import { expect, test } from "bun:test";
import { turnLifetimeMs } from "../../../../src/contract/index.ts";
import { MemoryTurns } from "../../../../src/kernel/index.ts";
import { hashBlocks } from "../../../../src/kernel/prompt-cache/blocks.ts";
import { keyedHash } from "../../../../src/kernel/prompt-cache/keyed-hash.bun.ts";
import { blocksMax, decodeTurn, encodeTurn, type Turn } from "../../../../src/kernel/prompt-cache/turn.ts";

const mebibyte = 2 ** 20;

function turnOf(blocks: number, at = 0): Turn {
  return {
    at,
    protocol: 2,
    promptTokens: 50_000,
    cachedTokens: 49_000,
    estimatedTokens: 48_000,
    lifetimeSeconds: 300,
    model: 2n ** 63n + 5n,
    route: 7n,
    settings: BigUint64Array.from([1n, 2n, 3n]),
    hashes: BigUint64Array.from({ length: blocks }, (_, index) => BigInt(index) ** 5n),
    tokens: Uint32Array.from({ length: blocks }, (_, index) => index * 1000),
    kinds: Uint8Array.from({ length: blocks }, (_, index) => index % 3),
  };
}

test("a turn comes out of its bytes as it went in, at any place in memory", () => {
  for (const blocks of [0, 1, 2, 3, blocksMax]) {
    const turn = turnOf(blocks, 1_790_000_000_000.5);
    const bytes = encodeTurn(turn);
    const moved = new Uint8Array(bytes.byteLength + 3);
    moved.set(bytes, 3);
    // A buffer of the platform's may be a part of a larger one.
    const pooled = Buffer.concat([Buffer.from("head"), bytes]).subarray(4);
    for (const place of [bytes, moved.subarray(3), pooled]) expect(decodeTurn(place)).toEqual(turn);
  }
});

test("bytes that are cut, longer, or of something else are no turn", () => {
  const bytes = encodeTurn(turnOf(5));
  expect(decodeTurn(bytes.subarray(0, 20))).toBeUndefined();
  expect(decodeTurn(bytes.subarray(0, -1))).toBeUndefined();
  expect(decodeTurn(new Uint8Array([...bytes, 0]))).toBeUndefined();
  expect(decodeTurn(new TextEncoder().encode("hello ".repeat(20)))).toBeUndefined();
});

test("100,000 sessions stay within the bound, by the count and in the memory of the process", () => {
  const most = 16 * mebibyte;
  const turns = new MemoryTurns(most, () => 0);
  Bun.gc(true);
  const before = process.memoryUsage().heapUsed;
  const encoded = Array.from({ length: 40 }, (_, blocks) => encodeTurn(turnOf(blocks)));
  let highest = 0;
  for (let session = 0; session < 100_000; session++) {
    turns.write(`session-${session}`, { id: "a", bytes: (encoded[session % 40] as Uint8Array).slice() }, []);
    highest = Math.max(highest, turns.bytes);
  }
  Bun.gc(true);
  const grown = process.memoryUsage().heapUsed - before;
  expect(highest).toBeLessThanOrEqual(most);
  expect(turns.size).toBeGreaterThan(15_000);
  expect([turns.read("session-0").length, turns.read("session-99999").length]).toEqual([0, 1]);
  expect(grown).toBeLessThan(1.5 * most);
});

test("the longest sessions with all their conversations stay within it too", () => {
  const most = mebibyte;
  const turns = new MemoryTurns(most, () => 0);
  for (let session = 0; session < 50; session++) {
    for (let conversation = 0; conversation < 8; conversation++) {
      turns.write(`s${session}`, { id: `c${conversation}`, bytes: encodeTurn(turnOf(blocksMax)) }, []);
      expect(turns.bytes).toBeLessThanOrEqual(most);
    }
  }
  expect(turns.read("s49").length).toBe(8);
});

test("a session is gone an hour after its last turn, and what is dropped is dropped", () => {
  let now = 0;
  const turns = new MemoryTurns(mebibyte, () => now);
  turns.write("one", { id: "a", bytes: encodeTurn(turnOf(1)) }, []);
  now += turnLifetimeMs;
  expect(turns.read("one").length).toBe(1);
  turns.write("one", { id: "b", bytes: encodeTurn(turnOf(1)) }, ["a"]);
  expect(turns.read("one").map(({ id }) => id)).toEqual(["b"]);
  now += turnLifetimeMs + 1;
  expect(turns.read("one")).toEqual([]);
  turns.write("one", { id: "c", bytes: encodeTurn(turnOf(1)) }, []);
  expect(turns.read("one").map(({ id }) => id)).toEqual(["c"]);
});

test("a prompt of any length has at most 1,000 blocks, and no text of it is kept", async () => {
  const messages = Array.from({ length: 1500 }, (_, index) => ({ role: "user", content: `SECRETWORD ${index}` }));
  const blocks = await hashBlocks("messages", { messages }, { hash: keyedHash, secret: 99n });
  expect(blocks.hashes.length).toBe(blocksMax);
  expect(blocks.estimatedTokens).toBeGreaterThan(1500);
  const bytes = encodeTurn({ ...turnOf(0), hashes: blocks.hashes, tokens: blocks.tokens, kinds: blocks.kinds });
  expect(bytes.byteLength).toBeLessThan(16_000);
  expect(Buffer.from(bytes).includes("SECRETWORD")).toBe(false);
  const other = await hashBlocks("messages", { messages }, { hash: keyedHash, secret: 98n });
  expect(other.hashes[0]).not.toBe(blocks.hashes[0] as bigint);
});
