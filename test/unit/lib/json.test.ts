import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  isExactNumber,
  isRecord,
  JsonBoundsError,
  type JsonSource,
  JsonTexts,
  jsonBounds,
  parseJson,
  readJson,
  readJsonInTurns,
  toJsonText,
  writeJsonInTurns,
} from "../../../src/lib/json.ts";
import { anyJson, runs } from "../../support/hostile.ts";

const sources = Object.keys(jsonBounds) as JsonSource[];
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const numbers = (count: number) => `[${"0,".repeat(count - 1)}0]`;
const errorIn = (read: () => unknown) => {
  try {
    read();
    return undefined;
  } catch (error) {
    return error;
  }
};

describe("a JSON text of any source", () => {
  test("is read up to its depth and its width, and refused beyond them without being parsed", () => {
    const wrong = sources.filter((source) => {
      const { depthMax, weightMax } = jsonBounds[source];
      const within = [nested(depthMax), numbers(Math.min(weightMax, 500_000))];
      const beyond = [nested(depthMax + 1), nested(100_000), ...(weightMax > 1e7 ? [] : [numbers(weightMax + 2)])];
      return (
        within.some((text) => errorIn(() => readJson(text, source)) !== undefined) ||
        beyond.some((text) => !(errorIn(() => readJson(text, source)) instanceof JsonBoundsError))
      );
    });
    expect(wrong).toEqual([]);
  });

  test("that is beyond its bounds counts as none for those who take texts too", () => {
    expect(sources.filter((source) => parseJson(nested(1000), source) !== undefined)).toEqual([]);
    expect(parseJson('{"a":[1]}', "text")).toEqual({ a: [1] });
    expect(parseJson("plain", "text")).toBeUndefined();
  });

  test("that is not JSON is a syntax error, however short or long it is", () => {
    for (const text of ["", "{", "x", `${numbers(1000)}]`]) {
      expect(errorIn(() => readJson(text, "text"))).toBeInstanceOf(SyntaxError);
    }
  });
});

describe("texts within one body", () => {
  test("are bounded together as one text is", () => {
    const texts = new JsonTexts();
    const half = numbers(jsonBounds.text.weightMax / 2 + 10);
    expect(texts.parse(half)).toBeArray();
    expect(texts.parse(half)).toBeUndefined();
    expect(new JsonTexts().parse(half)).toBeArray();
  });

  test("beyond the bounds name the field that they stand in", () => {
    const error = errorIn(() => new JsonTexts().checkField(nested(500), "The text", "messages[1].content"));
    expect(error).toMatchObject({ code: "invalid_request", status: 400, param: "messages[1].content" });
  });
});

/** A text of more than one part, with members that are hard to put together again. */
function longText(values: readonly unknown[], count: number): string {
  const members = Array.from({ length: count }, (_, index) => JSON.stringify(values[index % values.length] ?? null));
  const list = `[${members.join(" ,\n")}]`;
  return `{"n":${numbers(300_000)},"a":{"__proto__":[${list},{"constructor":${list}}],"a":0},"data":${list},"a":[${list}],"z":1}`;
}

const outcomeOf = async (read: () => unknown): Promise<unknown> => {
  try {
    return JSON.stringify(await read());
  } catch (error) {
    return error instanceof SyntaxError ? "not JSON" : error;
  }
};

describe("a long text that is read in turns", () => {
  const readLong = (text: string) => outcomeOf(() => readJsonInTurns(text, "longAnswer", () => undefined));

  test("is the value that the platform reads, whatever it holds", async () => {
    const property = fc.asyncProperty(fc.array(anyJson(), { minLength: 1, maxLength: 8 }), async (values) => {
      const text = longText(values, 10_000);
      expect((await readLong(text)) === (await outcomeOf(() => JSON.parse(text)))).toBe(true);
    });
    await fc.assert(property, runs(4));
  });

  test("is refused where the platform refuses it, wherever something is missing, doubled or added", async () => {
    const text = longText([{ a: [1, { b: "x,]}" }] }, [[], {}], 1.5], 10_000);
    const changes = fc.tuple(
      fc.nat(text.length - 1),
      fc.constantFrom("", ",", "]", "}", "[", "{", '"', ":", ",,"),
      fc.nat(1),
    );
    const property = fc.asyncProperty(changes, async ([at, added, removed]) => {
      const changed = text.slice(0, at) + added + text.slice(at + removed);
      expect((await readLong(changed)) === (await outcomeOf(() => JSON.parse(changed)))).toBe(true);
    });
    await fc.assert(property, runs(8));
  });

  test.each([
    ["several values behind each other", `${numbers(600_000)},${numbers(600_000)}`],
    ["nothing behind a comma but spaces", `[${"1,".repeat(300_000)}${" ".repeat(5_000_000)},1]`],
    ["a comma at the end", `[${"1,".repeat(600_000)}]`],
  ])("is refused with %s", async (_, text) => {
    expect(await readLong(text)).toBe("not JSON");
  });

  test("is counted before there is any value of it, and refused where that is refused", async () => {
    const counted: number[] = [];
    const text = `[${"{},".repeat(1_000_000)}{}]`;
    const refuse = (bytes: number) => {
      counted.push(bytes);
      throw new RangeError("no room");
    };
    expect(await outcomeOf(() => readJsonInTurns(text, "longAnswer", refuse))).toBeInstanceOf(RangeError);
    expect(counted).toHaveLength(1);
    // What the platform takes for so many empty objects.
    expect(counted[0]).toBeGreaterThan(70_000_000);
  });

  test("may have millions of numbers, and no more different names than an answer has", async () => {
    const value = await readJsonInTurns(`{"data":${numbers(3_000_000)}}`, "longAnswer", () => undefined);
    expect((value as { data: number[] }).data).toHaveLength(3_000_000);
    const names = `{${Array.from({ length: 150_000 }, (_, index) => `"k${index}":1`).join(",")}}`;
    expect(await readLong(names)).toBeInstanceOf(JsonBoundsError);
  });
});

test("a value that is written in turns is the text that the platform writes", async () => {
  const property = fc.asyncProperty(anyJson(), async (value) => {
    const many = { value, list: [value, undefined, [1, value], []], none: undefined, numbers: Array(25_000).fill(0.5) };
    expect((await writeJsonInTurns(many)) === JSON.stringify(many)).toBe(true);
  });
  await fc.assert(property, runs(50));
});

describe("a text that the values of the language do not hold", () => {
  const digits = fc.stringMatching(/^[1-9][0-9]{15,40}$/);
  const name = fc.oneof(fc.constantFrom("10", "2", "007", "a", "__proto__", "4294967296"), digits);
  const scalar = fc.oneof(
    digits,
    digits.map((text) => `-${text}`),
    fc.constantFrom("1E400", "-2e-999", "0", "12", "1.5", "true", "null", '"1E400"', '"\\"12345678901234567890:"'),
  );
  /** JSON as a compact text, of which no object has a name twice. */
  const { text } = fc.letrec<{ text: string }>((tie) => ({
    text: fc.oneof(
      { depthSize: "small" },
      scalar,
      fc.array(tie("text"), { maxLength: 4 }).map((list) => `[${list.join(",")}]`),
      fc
        .uniqueArray(fc.tuple(name, tie("text")), { maxLength: 5, selector: ([own]) => own })
        .map((members) => `{${members.map(([own, value]) => `${JSON.stringify(own)}:${value}`).join(",")}}`),
    ),
  }));

  test("is written as it was read, with its digits and the order of its names", () => {
    fc.assert(
      fc.property(text, fc.boolean(), (inner, isLong) => {
        const whole = `[[${inner}${isLong ? `,"${"x".repeat(500)}"` : ""}]]`;
        expect(JSON.stringify(readJson(whole, "body"))).toBe(whole);
        expect(JSON.stringify(parseJson(`[${inner}]`))).toBe(`[${inner}]`);
        expect(toJsonText(readJson(`{"a":${whole}}`, "stored"))).toBe(`{"a":${whole}}`);
      }),
      runs(500),
    );
  });

  test("is the platform's value otherwise, with spaces anywhere", async () => {
    const spread = (value: unknown) => JSON.stringify({ exact: [12345678901234567890n.toString()], value }, null, 3);
    await fc.assert(
      fc.property(anyJson(), (value) => {
        const whole = spread(value).replace('"12345678901234567890"', "12345678901234567890");
        const read = readJson(whole, "answer") as { exact: unknown[]; value: unknown };
        expect(JSON.stringify(read.exact)).toBe("[12345678901234567890]");
        expect(read.value).toEqual((JSON.parse(whole) as { value: unknown }).value);
      }),
      runs(300),
    );
  });

  test("has numbers as its own fields, which are no values that are handed on", () => {
    expect(readJson('{"seed":12345678901234567890,"n":[12345678901234567890]}', "body")).toMatchObject({
      seed: Number("12345678901234567890"),
    });
    expect(readJson('{"a":{"n":12345678901234567890}}', "document")).toEqual({
      a: { n: Number("12345678901234567890") },
    });
  });

  test("is refused where it is not JSON", () => {
    for (const broken of [
      "[12345678901234567890",
      "[12345678901234567890,]",
      '{"10":1,}',
      "[-12345678901234567890-]",
      '{"2" 3}',
    ]) {
      expect(errorIn(() => readJson(`{"a":${broken}}`, "body"))).toBeInstanceOf(SyntaxError);
      expect(errorIn(() => readJson(`{"a":${broken},"b":"${"x".repeat(500)}"}`, "body"))).toBeInstanceOf(SyntaxError);
    }
  });

  test("has numbers that are neither objects nor lists", () => {
    const [[value]] = readJson("[[12345678901234567890]]", "body") as [[object]];
    expect([isRecord(value), Array.isArray(value), isExactNumber(value)]).toEqual([false, false, true]);
    expect(isExactNumber({ rawJSON: "12345678901234567890" })).toBe(false);
  });
});
