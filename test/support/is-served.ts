import { hasContent } from "../../src/kernel/upstream/answer-form.ts";
import { parseJson } from "../../src/lib/json.ts";

/** Whether a provider bills for what it sent of a stream, even where nothing of it could be said: content, a report, half an event. */
export function isServed(body: Uint8Array): boolean {
  const events = [...new TextDecoder().decode(body).matchAll(/^data: ?([^ \r\n].*)/gm)].map(([, data = ""]) => data);
  return events.some((data) => {
    if (data.includes('"usage') && !data.includes('"usage":null')) return true;
    const part = parseJson(data, "event");
    return part === undefined ? data.startsWith("{") : hasContent(part);
  });
}
