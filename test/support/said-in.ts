import type { Recording } from "./recordings.ts";
import { replyOf } from "./reply.ts";
import { type Said, saidBy, saidByChunks, type WireChunk, type WireCompletion } from "./said.ts";
import { saidByMessage, saidByMessageEvents } from "./said-anthropic.ts";
import { saidByContents, type WireContent } from "./said-gemini.ts";
import { parseEvents } from "./sse.ts";

/** Whether a recording is a stream of events. */
export function isStream(recording: Recording): boolean {
  return /\.(sse|chunks\.txt)$/.test(recording.path);
}

/** What a recorded chat answer says, read from the provider's own bytes without any code of the gateway's. */
export function saidIn(recording: Recording): Said {
  const text = new TextDecoder().decode(replyOf(recording).body);
  const events = isStream(recording) ? parseEvents<never>(text).events : [JSON.parse(text) as never];
  if (recording.provider === "anthropic") {
    return isStream(recording) ? saidByMessageEvents(events) : saidByMessage(events[0] as never);
  }
  if (recording.provider === "gemini") return saidByContents(events as WireContent[]);
  return isStream(recording) ? saidByChunks(events as WireChunk[]) : saidBy(events[0] as unknown as WireCompletion);
}
