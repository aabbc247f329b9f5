import { expect, test } from "bun:test";
import { type ChatChunk, type ChatCompletion, UpstreamError } from "modelgate/plugin";
import { fromCandidates, GenerateContentStream } from "../../../../src/protocols/generate-content/answers.ts";
import type { GenerateAnswer } from "../../../../src/protocols/generate-content/schema.ts";
import { drain, eventsOf } from "../../sdk/fake-call.ts";
import { goldenCases, sent } from "./golden.ts";
import { counting } from "./support.ts";

interface AnswerCase {
  about: string;
  answer: GenerateAnswer;
  firstOnly?: boolean;
  choices?: unknown;
  usage?: ChatCompletion["usage"];
  fault?: { kind: string; message: string };
}

interface StreamCase {
  about: string;
  text: string;
  firstOnly?: boolean;
  chunks: ChatChunk[];
  fault?: { kind: string; message?: string };
}

test.each(goldenCases<AnswerCase>("answers"))("an answer: %s", (_, { answer, firstOnly, choices, usage, fault }) => {
  let completion: ChatCompletion | undefined;
  let error: unknown;
  try {
    completion = fromCandidates(answer, counting(firstOnly));
  } catch (thrown) {
    error = thrown;
  }
  expect(sent(completion?.choices ?? null)).toEqual(choices ?? null);
  expect(completion?.usage).toEqual(usage as never);
  expect(error instanceof UpstreamError ? { kind: error.kind, message: error.message } : error).toEqual(fault);
});

test.each(goldenCases<StreamCase>("streams"))("a stream: %s", async (_, { text, firstOnly, chunks, fault }) => {
  const { items, error } = await drain(new GenerateContentStream(eventsOf(text), counting(firstOnly)));
  expect(sent(items)).toEqual(chunks);
  if (fault === undefined) expect(error).toBeUndefined();
  else expect(error).toMatchObject(fault);
});
