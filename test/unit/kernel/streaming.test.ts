import { describe, expect, test } from "bun:test";
import { Readable } from "node:stream";
import { UpstreamError } from "../../../src/contract/index.ts";
import {
  type BatchReader,
  begin,
  pump,
  readsBatches,
  StreamReader,
  toReader,
  withYielding,
} from "../../../src/kernel/streaming.ts";
import { type ChatChunk, type ChatStream, fromIterable } from "../../../src/provider/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { textChunk } from "./streams.ts";

async function* endless() {
  for (let chunk = 0; ; chunk++) yield chunk;
}

describe("chunks of a handler that never waits", () => {
  test("let timers run", async () => {
    const chunks = withYielding(endless());
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    }, 5);
    let count = 0;
    while (!isOver && count < 10_000_000) {
      await chunks.next();
      count++;
    }
    expect(isOver).toBe(true);
  });

  test("come in order, up to a limit", async () => {
    const chunks = withYielding(endless(), 1024);
    for (let chunk = 0; chunk < 1023; chunk++) expect((await chunks.next()).value).toBe(chunk);
    expect(() => chunks.next()).toThrow("has more than 1024 chunks");
  });

  test("are closed through it", async () => {
    const source = endless();
    await withYielding(source).return?.();
    expect((await source.next()).done).toBe(true);
    expect(withYielding({ next: () => source.next() }).return).toBeUndefined();
  });
});

/** Reads these batches; an error is thrown. It writes down how it was left. */
class Batches<Item> implements BatchReader<Item> {
  readonly [readsBatches] = true;
  readonly left: string[] = [];
  readonly #batches: (readonly Item[] | Error)[];

  constructor(...batches: (readonly Item[] | Error)[]) {
    this.#batches = batches;
  }

  async read(): Promise<readonly Item[] | undefined> {
    const next = this.#batches.shift();
    if (next instanceof Error) throw next;
    return next;
  }

  cancel(): void {
    this.left.push("cancel");
  }

  drain(): void {
    this.left.push("drain");
  }
}

const broken = new UpstreamError("bad_response", "The line is dead");
const complete = "complete";

/** Translates words into chunks; the word "bad" is refused, and an answer that is not complete too. */
function wordsOf(events: Batches<string>): ChatStream<string> {
  const stream = {
    events: events as unknown as AsyncIterable<string>,
    isComplete: false,
    push(word: string): ChatChunk[] {
      if (word === "bad") throw new UpstreamError("bad_response", "A bad word");
      if (word === complete) stream.isComplete = true;
      return word === complete ? [] : [textChunk(word)];
    },
    end: () => [textChunk("[end]")],
    breakOff: () => [textChunk("[broken]")],
  };
  return stream;
}

/** The texts that a stream comes to, and its error. */
async function readAll(reader: StreamReader<ChatChunk>): Promise<{ texts: string[]; error: unknown }> {
  const texts: string[] = [];
  try {
    for (let chunks = await reader.read(); chunks !== undefined; chunks = await reader.read()) {
      for (const { choices } of chunks) texts.push(choices[0]?.delta.content ?? "");
    }
  } catch (error) {
    return { texts, error };
  }
  return { texts, error: undefined };
}

describe("the chunks of a handler's stream", () => {
  test.each<[string, string[][]]>([
    ["one event at a time", [["a"], ["b"], ["c"], [complete, "late"]]],
    ["all events at once", [["a", "b", "c", complete, "late"]]],
    ["pieces without an event", [[], ["a", "b"], [], ["c"], [complete]]],
  ])("are the same for %s, and end when the answer is complete", async (_, batches) => {
    const events = new Batches(...batches, ["never read"]);
    const { texts, error } = await readAll(new StreamReader(wordsOf(events)));
    expect([texts, error]).toEqual([["a", "b", "c", "[end]"], undefined]);
    expect(events.left).toEqual(["drain"]);
  });

  test("end with the events where nothing says before that they are complete", async () => {
    const events = new Batches(["a"], ["b"]);
    expect(await readAll(new StreamReader(wordsOf(events)))).toEqual({ texts: ["a", "b", "[end]"], error: undefined });
    expect(events.left).toEqual([]);
  });

  test.each<[string, (string[] | Error)[], unknown]>([
    ["the connection", [["a", "b"], broken], broken],
    ["an event in the middle of a piece", [["a", "b", "bad", "c"]], expect.objectContaining({ message: "A bad word" })],
  ])("that came before a failure of %s are given out before it", async (_, batches, failure) => {
    const events = new Batches(...batches);
    const { texts, error } = await readAll(new StreamReader(wordsOf(events)));
    expect([texts, error]).toEqual([["a", "b", "[broken]"], failure]);
    expect(events.left).toEqual(["cancel"]);
  });

  test("that have arrived in one piece are there without waiting, one event at a time", async () => {
    const textsOf = (chunks: readonly ChatChunk[] | undefined) =>
      chunks?.map(({ choices }) => choices[0]?.delta.content ?? "");
    const whole = new StreamReader(wordsOf(new Batches(["a", "b", complete, "late"])));
    expect(whole.readNow()).toBeUndefined();
    expect(textsOf(await whole.read())).toEqual(["a"]);
    expect([1, 2, 3].map(() => textsOf(whole.readNow()))).toEqual([["b"], ["[end]"], undefined]);
    expect(await whole.read()).toBeUndefined();
    const refused = new StreamReader(wordsOf(new Batches(["a", "bad", "c"])));
    expect(textsOf(await refused.read())).toEqual(["a"]);
    expect([1, 2].map(() => textsOf(refused.readNow()))).toEqual([["[broken]"], undefined]);
    expect(await errorOf(refused.read())).toMatchObject({ message: "A bad word" });
  });

  test("are translated one event at a time, and an event that nobody takes any more is not counted", async () => {
    const counted: string[] = [];
    const events = Object.assign(new Batches<string>(["a", "b", "bad"]), {
      onTake: (word: string) => counted.push(word),
    });
    const failure = new UpstreamError("bad_response", "This chunk cannot be read");
    const begun = begin(new StreamReader(wordsOf(events)), ({ choices }) => {
      if (choices[0]?.delta.content === "b") throw failure;
      return false;
    });
    expect(await errorOf(begun)).toBe(failure);
    expect(counted).toEqual(["a", "b"]);
  });

  test("of a generator are its own", async () => {
    const chunks = function* () {
      yield textChunk("a");
      yield textChunk("b");
    };
    expect((await readAll(new StreamReader(fromIterable(chunks())))).texts).toEqual(["a", "b"]);
  });
});

const hasBegun = (word: string) => word !== "";

describe("the beginning of a stream", () => {
  test("is all that came up to the first word, with what came along with it", async () => {
    const reader = new Batches<string>([""], ["", "a", "b"], ["c"]);
    expect(await begin(reader, hasBegun)).toEqual({ first: ["", "", "a", "b"], taken: 3, reader });
    expect(reader.left).toEqual([]);
  });

  test("is there after 64 items that say nothing", async () => {
    const reader = new Batches<string>(...Array.from({ length: 70 }, () => [""]));
    expect((await begin(reader, hasBegun)).first).toHaveLength(64);
  });

  test.each<[string, (string[] | Error)[], string]>([
    ["ends", [[""]], "ended before it began"],
    ["breaks off", [[""], broken], "The line is dead"],
  ])("fails where the stream %s before it", async (_, batches, message) => {
    const reader = new Batches<string>(...batches);
    expect((await errorOf(begin(reader, hasBegun))).message).toContain(message);
    expect(reader.left).toEqual(["cancel"]);
  });
});

describe("the pump", () => {
  test("tells the reader of each item once, as it is used, and not of those after one that fails", async () => {
    const told: string[] = [];
    const reader = Object.assign(new Batches<string>(["", "a", "b"], ["c", "bad", "d"]), {
      onTake: (item: string) => told.push(item),
    });
    const begun = await begin(reader, hasBegun);
    expect(told).toEqual(["", "a"]);
    const take = (item: string) => {
      if (item === "bad") throw new Error("This item is bad");
      return undefined;
    };
    await errorOf(pump(begun, take));
    expect(told).toEqual(["", "a", "b", "c", "bad"]);
  });

  test("takes an item only when the one before was taken", async () => {
    const running: string[] = [];
    const taken: string[] = [];
    await pump({ first: ["a"], reader: new Batches(["b", "c"], ["d"]) }, async (item) => {
      running.push(item);
      await new Promise((resolve) => setTimeout(resolve, 1));
      expect(running).toEqual([item]);
      running.length = 0;
      taken.push(item);
    });
    expect(taken).toEqual(["a", "b", "c", "d"]);
  });

  test("lets go of the provider when an item cannot be taken", async () => {
    const reader = new Batches(["b"]);
    const failure = new TypeError("no more");
    const taking = pump({ first: ["a"], reader }, () => {
      throw failure;
    });
    expect(await errorOf(taking)).toBe(failure);
    expect(reader.left).toEqual(["cancel"]);
  });

  test("drops what follows a complete answer", async () => {
    const reader = new Batches(["b", "c"], ["d"]);
    const taken: string[] = [];
    const take = (item: string) => void taken.push(item);
    await pump({ first: ["a"], reader }, take as () => undefined, { isComplete: () => taken.includes("b") });
    expect([taken, reader.left]).toEqual([["a", "b"], ["drain"]]);
  });

  test("takes an iterable of a plugin that has a member read, as streams of Node have, one item at a time", async () => {
    const taken: string[] = [];
    const items = Readable.from(["a", "b"]);
    await pump(
      { first: [], reader: toReader<string>(items) },
      ((item: string) => void taken.push(item)) as () => undefined,
    );
    expect(taken).toEqual(["a", "b"]);
  });

  test("lets others have a turn while one piece has thousands of items", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const items = Array.from({ length: 4096 }, (_, index) => index);
    await pump({ first: items, reader: toReader([]) }, () => undefined);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(8);
  });
});
