import { describe, expect, test } from "bun:test";
import { HeldText, type Looked, type Looks } from "../../../../src/kernel/policies/held-text.ts";
import { errorOf } from "../../../support/error-of.ts";
import { randomBelow } from "../../../support/random.ts";

/** A policy as a function of a text. */
type Look = (text: string) => Partial<Looked>;

const replaceAll =
  (pattern: RegExp, by: string): Look =>
  (text) => {
    const count = [...text.matchAll(pattern)].length;
    return { text: text.replaceAll(pattern, by), count, label: "found" };
  };

function looksOf(look: Look, found: number[] = []): Looks {
  return {
    look: async (text) => ({ text, isDenied: false, count: 0, ...look(text) }),
    onReplace: ({ count }) => void found.push(count),
    deny: () => new Error("denied"),
    denyHeld: () => new Error("held"),
  };
}

/** Sends pieces through policies. Returns what came out, and its longest delay in characters. */
async function send(pieces: readonly string[], ...held: HeldText[]) {
  let [sent, taken, delay] = ["", 0, 0];
  for (const piece of pieces) {
    taken += piece.length;
    let passed = piece;
    for (const one of held) passed = passed === "" ? "" : await one.push(passed);
    sent += passed;
    delay = Math.max(delay, taken - sent.length);
  }
  let rest = "";
  for (const one of held) {
    const more = rest === "" ? "" : await one.push(rest);
    rest = more + (await one.flush());
  }
  return { sent: sent + rest, delay };
}

const pick = randomBelow(45);
function cutAnywhere(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + pick(9);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}
const makeText = (words: readonly string[], count: number) =>
  Array.from({ length: count }, () => words[pick(words.length)]).join("");

describe("text that is held back", () => {
  test("is what the policy makes of the whole text, wherever it is cut", async () => {
    const words = ["secret", "sec", "ret", " ", "secretary ", "a", "é", "😀", "4111", "11", "1"];
    for (let round = 0; round < 1000; round++) {
      const text = makeText(words, 1 + pick(30));
      const found: number[] = [];
      const policy = replaceAll(/secret|(?<!\d)\d{6,8}(?!\d)/g, "[x]");
      const { sent } = await send(cutAnywhere(text), new HeldText(looksOf(policy, found), 12));
      expect({ text, sent }).toEqual({ text, sent: policy(text).text as string });
      expect(found.reduce((sum, count) => sum + count, 0)).toBe(policy(text).count as number);
    }
  });

  test("passes through several policies, each of which sees the text of the one before", async () => {
    for (let round = 0; round < 100; round++) {
      const text = makeText(["ab", "b", "a", "c", " "], 40);
      const [first, second] = [replaceAll(/ab/g, "c"), replaceAll(/cc/g, "-")];
      const { sent } = await send(cutAnywhere(text), new HeldText(looksOf(first), 4), new HeldText(looksOf(second), 4));
      expect({ text, sent }).toEqual({ text, sent: second(first(text).text as string).text as string });
    }
  });

  test("is never in two halves of a character", async () => {
    const held = new HeldText(
      looksOf(() => ({})),
      3,
    );
    for (const piece of ["😀😀", "😀", "a😀", "😀😀😀"]) {
      const sent = await held.push(piece);
      expect(sent.isWellFormed()).toBe(true);
    }
  });

  test("waits for no more than the policy holds back where nothing is found", async () => {
    const text = "nothing to see here ".repeat(20);
    const { sent, delay } = await send(
      [...text],
      new HeldText(
        looksOf(() => ({})),
        10,
      ),
    );
    expect([sent, delay]).toEqual([text, 10]);
  });

  test("comes at the end where all of it is held back", async () => {
    const held = new HeldText(looksOf(replaceAll(/secret/g, "[x]")), Number.POSITIVE_INFINITY);
    expect(await held.push("a sec")).toBe("");
    expect(await held.push("ret is kept")).toBe("");
    expect(await held.flush()).toBe("a [x] is kept");
  });

  test("that is denied ends the text, with nothing of the match sent", async () => {
    const deny: Look = (text) => ({ isDenied: /\bsecret\b/.test(text) });
    for (let round = 0; round < 100; round++) {
      const text = `${makeText(["secretary ", "se", "cret ", "a "], 20)} secret and more text after it`;
      const held = new HeldText(looksOf(deny), 10);
      let sent = "";
      const sending = async () => {
        for (const piece of cutAnywhere(text)) sent += await held.push(piece);
        sent += await held.flush();
      };
      expect((await errorOf(sending())).message).toBe("denied");
      expect(text.startsWith(sent)).toBe(true);
      expect(sent.length).toBeLessThanOrEqual(text.search(/\bsecret\b/));
    }
  });

  test("is not denied for a match that what follows makes none", async () => {
    const deny: Look = (text) => ({ isDenied: /\bcat\b/.test(text) });
    const text = "concatenate catalogues and concat, bobcats ".repeat(5);
    for (let length = 1; length < 20; length++) {
      const pieces = text.match(new RegExp(`.{1,${length}}`, "gs")) ?? [];
      expect((await send(pieces, new HeldText(looksOf(deny), 8))).sent).toBe(text);
    }
  });

  test("ends where the rest of a match follows text that was flushed", async () => {
    const held = new HeldText(looksOf(replaceAll(/secret/g, "[x]")), 8);
    expect((await held.push("a sec")) + (await held.flush())).toBe("a sec");
    const more = async () => (await held.push("ret and more text")) + (await held.flush());
    expect((await errorOf(more())).message).toBe("denied");
  });

  test("that a policy never lets go is bounded", async () => {
    let looks = 0;
    // Each longer text reads as another one.
    const never: Look = (text) => {
      looks++;
      return { text: `${text.length} ${text}` };
    };
    const held = new HeldText(looksOf(never), 8);
    const sending = async () => {
      for (;;) await held.push("some text ".repeat(100));
    };
    expect((await errorOf(sending())).message).toBe("held");
    expect(looks).toBeLessThan(200);
  });
});
