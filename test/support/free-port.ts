import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below what systems give to outgoing connections, one of which would else be given the port before its server is. */
const [first, end] = [10_000, 32_000];
/** Each process of a run goes on from a place of its own, so that two seldom choose the same before either listens. */
let next = randomInt(first, end);

/** A port of the loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  for (let tried = first; tried < end; tried++) {
    const port = next++;
    if (next === end) next = first;
    if (await isFree(port)) return port;
  }
  throw new Error(`Every port from ${first} to ${end - 1} is taken`);
}

/** Two ports that follow each other. */
export async function twoFreePorts(): Promise<number> {
  for (;;) {
    const [one, other] = [await freePort(), await freePort()];
    if (other === one + 1) return one;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
