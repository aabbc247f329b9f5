import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below what systems give to outgoing connections (from 32768 on Linux): one of those, open or ended a minute ago, keeps
 * a server from its port.
 */
const [lowest, end] = [10_000, 32_000];
/** The workers of a run have a part of these each, so that none takes a port of which another's server is just away. */
const parts = 16;
const width = (end - lowest) / parts;
const part = process.env.JEST_WORKER_ID === undefined ? randomInt(parts) : Number(process.env.JEST_WORKER_ID) % parts;
const first = lowest + part * width;
/** Runs of their own at the same time go on from places of their own. */
let next = first + randomInt(width);

/** A port of the loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < width; tried++) {
    const port = next++;
    if (next === first + width) next = first;
    if (await isFree(port)) return port;
  }
  throw new Error(`Every port from ${first} to ${first + width - 1} is taken`);
}

/** Two ports that follow each other; the first of them. */
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
