import { connect } from "node:net";

/** What came back on a connection of our own: the status, and the text so far. */
export interface RawAnswer {
  status: number;
  text: string;
}

/**
 * Writes bytes on a fresh connection and waits for the head of an answer, while the rest of the request never comes.
 *
 * @throws When no head came within `msMax`: the server waits for the rest.
 */
export function answerToUnfinished(origin: string, request: string, msMax = 5000): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let text = "";
    const timer = setTimeout(() => finish(() => reject(new Error(`No answer in ${msMax} ms; so far: ${text}`))), msMax);
    const finish = (end: () => void) => {
      clearTimeout(timer);
      socket.destroy();
      end();
    };
    socket.on("data", (bytes) => {
      text += bytes.toString();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      if (status !== undefined && text.includes("}")) finish(() => resolve({ status: Number(status), text }));
    });
    socket.on("error", (error) => finish(() => reject(error)));
    socket.on("close", () => finish(() => reject(new Error(`The connection closed without an answer: ${text}`))));
  });
}

/**
 * Writes bytes on a fresh connection and gathers what comes back until the server closes it.
 *
 * @throws When it is not closed within `msMax`, with what came so far.
 */
export function answersTo(origin: string, request: string, msMax = 10_000): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request, "latin1"));
    let text = "";
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`Not closed in ${msMax} ms; so far: ${text}`));
    }, msMax);
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    // A reset after an answer is a way to close, too.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}
