import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { applyFaults, figures, readFaults, words } from "../../../../plugins/sandbox/faults.ts";
import type { AnswerStream, Speech } from "../../../../src/provider/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { drain } from "../../sdk/fake-call.ts";
import { ask, askStream, box, boxCall } from "./sandbox-call.ts";

describe("a directive", () => {
  test.each<[string, object]>([
    ["[[fault:status=429 retry-after=2]]", { status: 429, retryAfter: "2" }],
    ["a [[fault:delay=5]] b [[fault:pace=6]]", { delayMs: 5, paceMs: 6 }],
    ["[[fault: break=3  error=4 ]]", { breakAfter: 3, errorAfter: 4 }],
    ["[[fault:hang]] [[fault:garbage usage=missing]]", { hang: true, garbage: true, usageMissing: true }],
    ["[[fault:status=200 delay=-1 foo=1 usage=lost]]", {}],
    ["[fault:hang]", {}],
  ])("%s is read", (text, faults) => {
    expect(readFaults(text).faults).toEqual({ hang: false, garbage: false, usageMissing: false, ...faults });
  });

  test("is taken out of the prompt", async () => {
    const { choices, usage } = await ask({ prompt: "Hello [[fault:usage=missing]]" });
    expect(choices[0]?.message.content).toBe("[sandbox] acme-chat echoes: Hello");
    expect(usage).toBeUndefined();
  });
});

test("the settings of a directive are those that the documentation lists, and each has an effect", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../../docs/providers.md")).text();
  const [, section = ""] = page.split("### Simulated faults\n");
  const listed = [...(section.split("\n## ")[0] ?? "").matchAll(/^\| `([^`]+)` +\|/gm)].map(
    ([, setting = ""]) => setting,
  );
  expect(listed.map((setting) => setting.split("=")[0] ?? "").sort()).toEqual(
    [...Object.keys(words), ...Object.keys(figures)].sort(),
  );
  const none = readFaults("").faults;
  for (const setting of listed)
    expect([setting, readFaults(`[[fault:${setting}]]`).faults]).not.toEqual([setting, none]);
});

describe("a fault", () => {
  test.each<[string, object]>([
    ["[[fault:status=503]]", { kind: "overloaded", status: 503, message: "[sandbox] This 503 was asked for" }],
    ["[[fault:status=429 retry-after=2]]", { kind: "rate_limited", status: 429, retryAfterMs: 2000 }],
    ["[[fault:status=401]]", { kind: "auth", status: 401 }],
    ["[[fault:status=400]]", { kind: "bad_request" }],
    ["[[fault:status=404]]", { kind: "model_not_found" }],
    ["[[fault:garbage]]", { kind: "bad_response" }],
    ["[[fault:break=3]]", { kind: "bad_response" }],
  ])("%s refuses an answer", async (prompt, fault) => {
    const refusal = expect.objectContaining({ name: "UpstreamError", ...fault });
    expect(await errorOf(ask({ prompt }))).toEqual(refusal);
  });

  test.each<[string, number, object]>([
    ["[[fault:break=3]]", 3, { kind: "bad_response" }],
    ["[[fault:break=0]]", 0, { kind: "bad_response" }],
    ["[[fault:error=2]]", 2, { kind: "server_error", message: "[sandbox] This error was asked for" }],
  ])("%s ends a stream after %d chunks", async (prompt, chunks, fault) => {
    const { items, error } = await askStream({ prompt });
    expect(items).toHaveLength(chunks);
    expect(error).toMatchObject({ name: "UpstreamError", ...fault });
  });

  test("a refused stream is refused before it begins", async () => {
    expect(await errorOf(askStream({ prompt: "[[fault:status=500]]" }))).toEqual(
      expect.objectContaining({ status: 500 }),
    );
  });

  test("a stream without usage says none", async () => {
    const { items, error } = await askStream({ prompt: "[[fault:usage=missing pace=1]]" });
    expect(error).toBeUndefined();
    expect(items.filter(({ usage }) => usage)).toEqual([]);
  });

  test.each(["hang", "delay=60000"])("%s ends when the caller leaves", async (setting) => {
    const controller = new AbortController();
    const suffering = applyFaults(readFaults(`[[fault:${setting}]]`).faults, controller.signal);
    controller.abort();
    expect(await errorOf(suffering)).toEqual(expect.objectContaining({ name: "AbortError" }));
  });

  test.each([
    ["embeddings", { input: ["a", "[[fault:status=503]]"] }],
    ["images", { prompt: "[[fault:status=503]]" }],
    ["transcription", { file: new File([], "a.wav"), prompt: "[[fault:status=503]]" }],
    ["speech", { input: "[[fault:status=503]]" }],
  ] as const)("is had of %s too", async (capability, request) => {
    const handler = box.handlers[capability] as (call: unknown) => Promise<unknown>;
    expect(await errorOf(handler(boxCall(capability, request)))).toEqual(expect.objectContaining({ status: 503 }));
  });

  test("cuts speech", async () => {
    const call = boxCall("speech", { input: `[[fault:break=2]] ${"x".repeat(100)}` });
    const speech = (await box.handlers.speech?.(call)) as Speech;
    const { items, error } = await drain(speech.audio as AnswerStream<Uint8Array<ArrayBuffer>>);
    expect(items).toHaveLength(2);
    expect(error).toMatchObject({ kind: "bad_response" });
  });
});
