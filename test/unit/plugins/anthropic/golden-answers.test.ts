import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromMessage, MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import type { MessageAnswer, Reading } from "../../../../src/protocols/messages/schema.ts";

import { streamOf } from "./stream-of.ts";
import { assemble, drain, eventsFrom, plain } from "./support.ts";

/** An answer and the message it must become, whole and streamed. */
interface Case {
  name: string;
  reading?: Partial<Reading>;
  answer: MessageAnswer;
  message: object;
  finish: string;
  /** At which stop sequence it ended. */
  stopSequence?: string | true;
  usage?: object;
}

const folder = join(import.meta.dir, "../../../fixtures/anthropic/answers");

describe.each(readdirSync(folder))("%s", (file) => {
  const cases = (JSON.parse(readFileSync(join(folder, file), "utf8")) as Case[]).map(
    (golden) => [golden.name, golden] as const,
  );

  test.each(cases)("%s, whole", (_, golden) => {
    const completion = fromMessage(golden.answer, { ...plain, ...golden.reading }, 0);
    expect(completion.choices[0]).toEqual({
      index: 0,
      message: golden.message as never,
      finish_reason: golden.finish as never,
      ...(golden.stopSequence !== undefined && { stop_sequence: golden.stopSequence }),
    });
    if (golden.usage !== undefined) expect(completion.usage).toEqual(golden.usage as never);
  });

  test.each(cases)("%s, streamed", async (_, golden) => {
    const reading = { ...plain, ...golden.reading };
    for (let seed = 0; seed < 30; seed++) {
      const { chunks, error } = await drain(
        new MessagesOutboundStream(eventsFrom(streamOf(golden.answer, seed)), reading),
      );
      expect(error).toBeUndefined();
      const { message, finish, usage } = assemble(chunks);
      expect(message).toEqual(golden.message as never);
      expect(finish).toBe(golden.finish);
      const last = chunks.findLast(({ choices }) => choices.length > 0);
      expect(last?.choices[0]?.stop_sequence).toEqual(golden.stopSequence);
      if (golden.usage !== undefined) expect(usage).toEqual(golden.usage);
    }
  });
});
