import { malformed } from "./malformed.ts";

/** Of one answer's heads together, the informational ones included, in bytes. */
export const headBytesMax = 65_536;
const headersMax = 200;

/** How the end of a body is known. */
export type Framing = "none" | "length" | "chunked" | "close";

/** What a head says. */
export interface AnswerHead {
  status: number;
  /** All header lines as they came, each with its line end. */
  lines: string;
  framing: Framing;
  /** Of the body in bytes, where the framing is `length`. */
  length: number;
  /** Whether the connection can take another request. */
  keepsAlive: boolean;
  /** How long the server waits for one, where it says so. */
  keepAliveMs: number | undefined;
  contentType: string | undefined;
  contentEncoding: string | undefined;
}

const token = String.raw`[\w!#$%&'*+\-.^\x60|~]+`;
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [^\0\r\n]*)?$/;
const allLines = new RegExp(String.raw`^(?:${token}:[^\0\r\n]*\r\n)*$`);

/** Whether text is header lines and nothing else: no folded line, no space before a colon, no lone line end. */
export const areHeaderLines = (text: string): boolean => allLines.test(text);

/**
 * Reads a head, without the empty line at its end.
 *
 * @throws {UpstreamFault} `broken` when it is not HTTP/1.1, or says the body's length in more than one way.
 */
export function readHead(text: string): AnswerHead {
  const firstEnd = text.indexOf("\r\n");
  const status = statusLine.exec(text.slice(0, firstEnd));
  if (status === null) throw malformed("its first line is no status line");
  const lines = text.slice(firstEnd + 2);
  const isOld = status[1] === "0";
  const head: AnswerHead = {
    status: Number(status[2]),
    lines,
    framing: "close",
    length: 0,
    keepsAlive: !isOld,
    keepAliveMs: undefined,
    contentType: undefined,
    contentEncoding: undefined,
  };
  readLines(head, lines);
  if (head.framing === "chunked" && isOld) throw malformed("it is chunked, but HTTP/1.0");
  if (head.status < 200 || head.status === 204 || head.status === 304) head.framing = "none";
  if (head.framing === "close") head.keepsAlive = false;
  return head;
}

function readLines(head: AnswerHead, lines: string): void {
  let count = 0;
  for (let at = 0; at < lines.length; ) {
    if (++count > headersMax) throw malformed(`it has more than ${headersMax} headers`);
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\r\n", at);
    const nameLength = colon - at;
    // Only headers of these lengths matter here: `connection`, `content-type` and so on.
    if (nameLength >= 10 && nameLength <= 17)
      readHeader(head, lines.slice(at, colon).toLowerCase(), lines.slice(colon + 1, end));
    at = end + 2;
  }
  if (!areHeaderLines(lines)) throw malformed("one of its lines is no header");
}

function readHeader(head: AnswerHead, name: string, raw: string): void {
  switch (name) {
    case "content-length": {
      const value = raw.trim();
      if (!/^\d{1,15}$/.test(value)) throw malformed("its content-length is no number");
      if (head.framing !== "close") throw malformed("it says its length more than once");
      head.framing = "length";
      head.length = Number(value);
      return;
    }
    case "transfer-encoding":
      if (raw.trim().toLowerCase() !== "chunked") throw malformed("its transfer-encoding is another than chunked");
      if (head.framing !== "close") throw malformed("it says its length more than once");
      head.framing = "chunked";
      return;
    case "connection":
      for (const word of raw.toLowerCase().split(",")) if (word.trim() === "close") head.keepsAlive = false;
      return;
    case "keep-alive": {
      const seconds = /(?:^|[\s,])timeout=(\d{1,9})/i.exec(raw)?.[1];
      if (seconds !== undefined) head.keepAliveMs = Number(seconds) * 1000;
      return;
    }
    case "content-type":
      head.contentType ??= raw.trim();
      return;
    case "content-encoding":
      head.contentEncoding = head.contentEncoding === undefined ? raw.trim() : `${head.contentEncoding}, ${raw.trim()}`;
      return;
  }
}

/** The lines as `Headers`, for those who look further than the gateway does. */
export function headersOf(lines: string): Headers {
  const headers = new Headers();
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
