import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import openai from "../../../plugins/openai/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { faultsOf } from "../../support/openai-schema.ts";
import { recordingAt, recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { replyOf } from "../../support/reply.ts";
import { type Bench, startBench } from "./bench.ts";
import { type Plan, planOf } from "./plan.ts";

interface WireImages {
  created: number;
  data: { url?: string; b64_json?: string }[];
}

interface GeminiImages {
  candidates: { content: { parts: { thought?: boolean; inlineData?: { data: string } }[] } }[];
}

/** OpenAI has no image model in the catalogue, so the plugin is given one of the test's own. */
const row = {
  id: "test-image",
  upstreamId: "gpt-image-1",
  capability: "images" as const,
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
    expect(gateway.ledger.callOf(response)).toMatchObject({
      images: 1,
      charged_nanodollars: 46_000_000,
      plugin: "openai",
    });
  });
});

const plans = recordingsOf("gemini")
  .map(planOf)
  .filter((plan) => plan?.endpoint === "/images/generations") as Plan[];

describe.skipIf(recordingsMissing !== undefined)("recorded images of Gemini", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  test.each(plans.map((plan): [string, Plan] => [plan.recording.path, plan]))("%s comes through", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    const recorded = JSON.parse(new TextDecoder().decode(plan.recording.body)) as GeminiImages;
    const parts = recorded.candidates.flatMap(({ content }) => content.parts);
    const pictures = parts.flatMap(({ inlineData, thought }) => (inlineData && !thought ? [inlineData.data] : []));
    upstream.answer("gemini", replyOf(plan.recording));
    const response = await gateway.post(plan.endpoint, { ...plan.body, response_format: "b64_json" });
    const answer = (await response.json()) as WireImages;
    expect({ status: response.status, faults: faultsOf("ImagesResponse", answer) }).toEqual({
      status: 200,
      faults: [],
    });
    expect(answer.data.map(({ b64_json }) => b64_json)).toEqual(pictures.slice(0, 1));
    expect(ledger.callOf(response)).toMatchObject({ images: 1, cost_nanodollars: 46_000_000, plugin: "gemini" });
  });
});

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
