import { describe, expect, test } from "bun:test";
import {
  fromIterable,
  type GeneratedImages,
  type ImagesRequest,
  type Model,
  type PartialImage,
} from "../../../../src/provider/index.ts";
import { FakeStream, Sink } from "../streams.ts";
import { callOf, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const price = { image: { usd: "0.04", per: 1 }, markupPercent: 15 };
const row: Model = { ...plain, id: "image-1", capability: "images", price };
const picture = { data: "AAAA", mediaType: "image/png" };

function ask(request: Partial<ImagesRequest>, answer: (asked: number) => unknown, maxChoices?: number) {
  const requests: ImagesRequest[] = [];
  const plugin = createPlugin(
    {
      async images(call) {
        requests.push(call.request);
        return answer(requests.length - 1) as GeneratedImages;
      },
    },
    { models: [row], ...(maxChoices !== undefined && { maxChoices: { images: maxChoices } }) },
  );
  const bench = createBench([plugin]);
  const sink = new Sink<PartialImage>();
  const call = callOf("images", { model: "image-1", prompt: "A cat", ...request }, { sink });
  return { ...bench, requests, sink, call, done: runCall(bench.kernel, call) };
}

test("a quality that the row does not know is held as the finest that it is asked for", async () => {
  const byToken = { inputToken: { usd: "5", per: 1_000_000 }, outputToken: { usd: "30", per: 1_000_000 } };
  const known = { low: 600, high: 24_000 };
  const images = async () => ({ images: [picture] });
  const plugin = createPlugin({ images }, { models: [{ ...row, price: byToken, imageOutputTokensMax: known }] });
  const heldFor = async (quality: ImagesRequest["quality"]) => {
    const { kernel, ledger } = createBench([plugin]);
    await runCall(kernel, callOf("images", { model: "image-1", prompt: "A cat", quality } as ImagesRequest));
    return ledger.claims[0]?.holdNanodollars as number;
  };
  const [low, high, auto, most] = await Promise.all((["low", "high", "auto", "xhigh"] as const).map(heldFor));
  expect(low).toBeLessThan(high as number);
  expect(auto).toBe(high as number);
  expect(most).toBe(high as number);
});

describe("images", () => {
  test.each([
    [{}, 1, 46_000_000],
    [{ n: null }, 1, 46_000_000],
    [{ n: 3 }, 3, 138_000_000],
  ])("asked for with %p hold and cost the price of %d with its markup", async (request, count, nanodollars) => {
    const { done, ledger } = ask(request, () => ({ images: Array(count).fill(picture) }));
    expect((await done).images).toHaveLength(count);
    expect(ledger.claims[0]?.holdNanodollars).toBe(nanodollars);
    expect(ledger.settlement).toMatchObject({ meters: { image: count }, costNanodollars: nanodollars });
  });

  test("are asked for one by one where the provider makes one at a time", async () => {
    const { done, requests } = ask({ n: 3 }, (index) => ({ images: [{ ...picture, data: `${index}` }, picture] }), 1);
    expect((await done).images.map(({ data }) => data)).toEqual(["0", "1", "2"]);
    expect(requests.map(({ n }) => n)).toEqual([1, 1, 1]);
  });

  test("fewer than wanted cost what came; more than wanted are not handed out", async () => {
    const fewer = ask({ n: 3 }, () => ({ images: [picture] }));
    await fewer.done;
    expect(fewer.ledger.settlement.meters).toEqual({ image: 1 });
    const more = ask({ n: 1 }, () => ({ images: [picture, picture] }));
    expect((await more.done).images).toHaveLength(1);
    expect(more.ledger.settlement.meters).toEqual({ image: 1 });
  });

  test.each([[{ images: [] }], [{}], [null], [undefined]])("that are none (%p) are free", async (answer) => {
    const { done, ledger } = ask({}, () => answer);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(ledger.settlement).toMatchObject({ outcome: "released", usageSource: "none" });
  });
});

describe("a stream of images", () => {
  const unfinished: PartialImage = { ...picture, index: 0 };
  type Item = PartialImage | GeneratedImages;

  test("shows the unfinished ones, ends with the finished one and costs that", async () => {
    const stream = new FakeStream<Item>(unfinished, { ...unfinished, index: 1 }, { images: [picture] }, "hang");
    const { done, ledger, sink } = ask({ partial_images: 2 }, () => stream);
    expect((await done).images).toEqual([picture]);
    expect(sink.pieces.map(({ index }) => index)).toEqual([0, 1]);
    expect([sink.opened, stream.returned]).toEqual([1, 1]);
    expect(ledger.settlement).toMatchObject({ meters: { image: 1 }, costNanodollars: 46_000_000 });
  });

  test("takes the unfinished ones and the finished one of a single event", async () => {
    const stream = { events: ["all"], push: () => [unfinished, { images: [picture] }, unfinished], end: () => [] };
    const { done, sink } = ask({ partial_images: 1 }, () => stream);
    expect((await done).images).toEqual([picture]);
    expect(sink.pieces).toEqual([unfinished]);
  });

  test.each<[string, Item[]]>([
    ["nothing", []],
    ["no finished one", [unfinished]],
    ["a finished one without an image", [unfinished, { images: [] }]],
  ])("that holds %s fails", async (_, items) => {
    const { done } = ask({ partial_images: 1 }, () => fromIterable(items));
    expect((await rejectionOf(done)).code).toBe("upstream_error");
  });

  test("that waits for a slow client asks its provider for no more", async () => {
    const stream = new FakeStream<Item>(unfinished, { images: [picture] });
    const run = ask({ partial_images: 1 }, () => stream);
    const { promise, resolve } = Promise.withResolvers<void>();
    const written = new Promise<void>((begin) => {
      run.sink.reader = () => {
        begin();
        return promise;
      };
    });
    await written;
    expect(stream.asked).toBe(1);
    resolve();
    expect((await run.done).images).toEqual([picture]);
  });

  test("without an end, whose provider never waits, ends with its client", async () => {
    function* endless(): Generator<Item> {
      for (;;) yield unfinished;
    }
    const run = ask({ partial_images: 1 }, () => fromIterable(endless()));
    run.sink.reader = () => {
      if (run.sink.pieces.length === 3) run.call.cancel("client_disconnected");
      return undefined;
    };
    await rejectionOf(run.done);
    expect(run.sink.pieces).toHaveLength(3);
  });
});
