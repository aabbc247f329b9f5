import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import openai from "../../../plugins/openai/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { faultsOf } from "../../support/openai-schema.ts";
import { recordingAt, recordingsMissing } from "../../support/recordings.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { replyOf } from "../../support/reply.ts";

interface WireImages {
  created: number;
  data: { url?: string; b64_json?: string }[];
}

/** OpenAI has no image model in the catalogue, so the plugin is given one of the test's own. */
const row = {
  id: "test-image",
  upstreamId: "gpt-image-1",
  capability: "image" as const,
  premium: true,
  ownedBy: "test",
  created: 1_750_000_000,
  price: { image: { usd: "0.04", per: 1 }, markupPercent: 15 },
};

describe.skipIf(recordingsMissing !== undefined)("a recorded image of OpenAI", () => {
  let gateway: InProcessGateway;
  let upstream: ReplayUpstream;
  beforeAll(async () => {
    upstream = await startReplayUpstream();
    const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1") };
    gateway = await startInProcess({ env, plugins: [{ ...openai, models: [row] }] });
  });
  afterAll(async () => {
    await gateway.stop();
    await upstream.stop();
  });

  test.each(["b64_json", "url"])("comes through as %s, at its price", async (format) => {
    const recording = recordingAt("openai/images/gpt-image-1-b64.json");
    const recorded = JSON.parse(new TextDecoder().decode(recording.body)) as WireImages;
    const bytes = Buffer.from(recorded.data[0]?.b64_json as string, "base64");
    upstream.answer("openai", replyOf(recording));
    const body = { ...recording.request?.body, model: row.id, quality: "hd", response_format: format };
    const response = await gateway.post("/images/generations", body);
    const answer = (await response.json()) as WireImages;
    expect({ status: response.status, faults: faultsOf("ImagesResponse", answer) }).toEqual({
      status: 200,
      faults: [],
    });
    const [image] = answer.data;
    const got = format === "url" ? await (await fetch(image?.url as string)).bytes() : image?.b64_json;
    expect(Buffer.from(got as string, "base64").equals(bytes)).toBe(true);
    expect(upstream.seen.at(-1)?.json).toMatchObject({
      model: "gpt-image-1",
      n: 1,
      size: "1024x1024",
      quality: "high",
    });
    expect(gateway.books.callOf(response)).toMatchObject({
      images: 1,
      charged_nanodollars: 46_000_000,
      route: "openai",
    });
  });
});

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
