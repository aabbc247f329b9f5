import { expect, test } from "bun:test";
import bedrock from "../../../../plugins/bedrock/index.ts";
import { callOf, createBench, runCall } from "../../kernel/support.ts";

const model = "bedrock/stability.stable-image-ultra-v1:1";

function gatewayOf(answer: object) {
  const bodies: unknown[] = [];
  const fetch = async (_: string, { body }: RequestInit) => {
    bodies.push(JSON.parse(String(body)));
    return Response.json(answer);
  };
  return { ...createBench([bedrock], { fetch }), bodies };
}

test.each([
  [undefined, "1:1", []],
  ["auto", "1:1", []],
  ["1024x1024", "1:1", []],
  ["1536x1024", "3:2", ["size"]],
  ["1080x1920", "9:16", ["size"]],
])("an image of size %p is asked for as %p", async (size, aspect_ratio, ignored) => {
  const { kernel, ledger, bodies } = gatewayOf({ seeds: [1], finish_reasons: [null], images: ["iVBORw0KGgo="] });
  const call = callOf("images", { model, prompt: "A kite", ...(size && { size }) });
  const answer = await runCall(kernel, call);
  expect(answer?.images).toEqual([{ data: "iVBORw0KGgo=", mediaType: "image/png" }]);
  expect(bodies).toEqual([{ prompt: "A kite", aspect_ratio, output_format: "png" }]);
  expect([...(call.run?.ignored ?? [])]).toEqual(ignored);
  expect(ledger.settlement).toMatchObject({ meters: { image: 1 }, costNanodollars: 140_000_000 });
});

test("several images are as many requests, and each is charged", async () => {
  const { kernel, ledger, bodies } = gatewayOf({ seeds: [1], finish_reasons: [null], images: ["iVBORw0KGgo="] });
  const answer = await runCall(kernel, callOf("images", { model, prompt: "A kite", n: 3 }));
  expect([answer?.images.length, bodies.length]).toEqual([3, 3]);
  expect(ledger.settlement.costNanodollars).toBe(3 * 140_000_000);
});

test.each([
  ["Filter reason: prompt", 400, "content_policy_violation"],
  ["Filter reason: output image", 400, "content_policy_violation"],
  ["Inference error", 500, "upstream_error"],
])("an answer that ended with '%s' is an error, with an image and without", async (reason, status, code) => {
  for (const images of [[], ["iVBORw0KGgo="]]) {
    const { kernel } = gatewayOf({ finish_reasons: [reason], images });
    const call = callOf("images", { model, prompt: "A kite" });
    const error = await runCall(kernel, call).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status });
    expect(JSON.stringify((error as { toBody(): unknown }).toBody())).toContain(code);
  }
});
