import { expect, test } from "bun:test";
import type { UpstreamError } from "../../../src/contract/index.ts";
import { judgeFinish, toFinishReason } from "../../../src/provider/index.ts";

/** The words of each provider's documentation, and what a client of OpenAI must be told of them. */
const words: Record<string, string[]> = {
  stop: [
    ...["stop", "eos", "eos_token", "stop_sequence", "end_turn", "STOP", "COMPLETE", "STOP_SEQUENCE", "FINISH"],
    ...["completed", "endoftext", "normal", "pause_turn", "stop-sequence"],
  ],
  tool_calls: ["tool_calls", "tool_use", "TOOL_CALL"],
  function_call: ["function_call"],
  length: [
    ...["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length", "model_context_window_exceeded"],
    ...["CONTINUATION", "token_limit"],
  ],
  content_filter: [
    ...["content_filter", "sensitive", "refusal", "guardrail_intervened", "content_filtered", "SAFETY", "RECITATION"],
    ...["BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "ERROR_TOXIC"],
  ],
};

test("every word of a provider that is known has its finish reason, with and without an answer", () => {
  const bad: string[] = [];
  for (const [reason, list] of Object.entries(words)) {
    for (const word of list) {
      for (const hasOutput of [true, false]) {
        const got = judgeFinish(word, { hasOutput });
        if (got !== reason) bad.push(`${word}: ${got}`);
      }
    }
  }
  expect(bad).toEqual([]);
});

test("no other word and no other value is a success", () => {
  const others = ["SOME_NEW", "OTHER", "load", "abort", "error", "", "__proto__", "constructor", 1, true, {}, []];
  const reasons = others.map((word) => {
    try {
      return [word, judgeFinish(word, { hasOutput: true })];
    } catch (error) {
      return [word, (error as UpstreamError).kind];
    }
  });
  expect(reasons).toEqual(
    others.map((word) => [
      word,
      word === "" ? "stop" : word === "error" || word === "abort" ? "bad_response" : "length",
    ]),
  );
});

test("without an answer a word that is not known is a failure, of the provider where the word says so", () => {
  const failureOf = (word: unknown) => {
    try {
      return judgeFinish(word, { hasOutput: false, message: "m" });
    } catch (error) {
      const { kind, code, isOfRequest, message } = error as UpstreamError;
      return { kind, code, isOfRequest, message };
    }
  };
  const kind = "bad_response";
  expect(failureOf("MALFORMED_FUNCTION_CALL")).toEqual({
    ...{ kind, code: "MALFORMED_FUNCTION_CALL", isOfRequest: true },
    message: "The model gave no answer (MALFORMED_FUNCTION_CALL): m",
  });
  expect(failureOf("network_error")).toEqual({
    ...{ kind, code: "network_error", isOfRequest: false },
    message: "The provider failed at its answer (network_error): m",
  });
  expect(failureOf("a word\n".repeat(100))).toMatchObject({ code: undefined, isOfRequest: true });
});

test("an answer whose call breaks off was cut, unless its provider says that it was cut or filtered", () => {
  const words = ["stop", "tool_calls", "tool_use", "end_turn", "function_call", "length", "content_filter"];
  expect(words.map((word) => judgeFinish(word, { hasOutput: true, hasCalls: true, hasBrokenCall: true }))).toEqual([
    ...Array(6).fill("length"),
    "content_filter",
  ]);
});

test("an answer with calls that stopped did so for them, and one without for none", () => {
  expect([undefined, null, "", "stop", "end_turn"].map((word) => toFinishReason(word, true))).toEqual(
    Array(5).fill("tool_calls"),
  );
  expect(toFinishReason("tool_use", false)).toBe("stop");
  expect([toFinishReason("MAX_TOKENS", true), toFinishReason("max_tokens", false)]).toEqual(["length", "length"]);
  expect(toFinishReason("a_word_of_tomorrow", true) as string).toBe("a_word_of_tomorrow");
});
