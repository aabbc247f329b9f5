import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands before a server on loopback and makes it slow, silent, or a server whose answers are lost. */
export interface SlowProxy {
  readonly port: number;
  /** How long each piece waits, both ways; `Infinity`: until it is set lower. */
  delayMs: number;
  /** The port of the server that new connections lead to. */
  targetPort: number;
  /** The ports of the servers that clients are connected to. */
  readonly ports: ReadonlySet<number>;
  /** Whether answers of the server are lost. A connection that lost some ends when this is over, as no byte comes after a gap. */
  losesAnswers: boolean;
  /** Whether the server keeps its side of a connection whose client goes, as when a host vanishes without a word. */
  keepsServerSide: boolean;
  /** Ends all connections. */
  cut(): void;
  stop(): Promise<void>;
}

/** Pieces on their way from one socket to another, which arrive in the order in which they were sent. */
class Way {
  readonly #pieces: { bytes: Buffer; sentAt: number }[] = [];
  readonly #to: Socket;
  #timer: NodeJS.Timeout | undefined;

  constructor(to: Socket) {
    this.#to = to;
  }

  push(bytes: Buffer, delayMs: number): void {
    this.#pieces.push({ bytes, sentAt: performance.now() });
    this.move(delayMs);
  }

  /** Hands over what has waited long enough, and comes again for the rest. */
  move(delayMs: number): void {
    clearTimeout(this.#timer);
    while (this.#pieces[0] !== undefined) {
      const waitMs = this.#pieces[0].sentAt + delayMs - performance.now();
      if (waitMs > 0) {
        if (waitMs < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.move(delayMs), waitMs);
        return;
      }
      this.#to.write((this.#pieces.shift() as { bytes: Buffer }).bytes);
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#to.destroy();
  }
}

/** Starts one before this port. A connection that ends on one side ends on the other at once. */
export async function startSlowProxy(firstTargetPort: number): Promise<SlowProxy> {
  const ways = new Set<Way>();
  const portOf = new Map<Socket, number>();
  let targetPort = firstTargetPort;
  let delayMs = 0;
  let losesAnswers = false;
  let keepsServerSide = false;
  /** Ends of connections that have lost an answer. */
  const torn = new Set<() => void>();
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    portOf.set(near, targetPort);
    near.on("close", () => portOf.delete(near));
    const pair = [new Way(far), new Way(near)];
    const end = () => {
      torn.delete(end);
      for (const way of pair) {
        way.end();
        ways.delete(way);
      }
    };
    for (const [index, socket] of [near, far].entries()) {
      const way = pair[index] as Way;
      ways.add(way);
      socket.setNoDelay(true);
      socket.on("data", (bytes) => {
        if (socket === far && losesAnswers) torn.add(end);
        else way.push(bytes as Buffer, delayMs);
      });
      const onEnd = () => {
        if (socket === far || !keepsServerSide) end();
      };
      socket.on("error", onEnd);
      socket.on("close", onEnd);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get delayMs() {
      return delayMs;
    },
    set delayMs(ms) {
      delayMs = ms;
      for (const way of ways) way.move(ms);
    },
    get targetPort() {
      return targetPort;
    },
    set targetPort(port) {
      targetPort = port;
    },
    get ports() {
      return new Set(portOf.values());
    },
    get losesAnswers() {
      return losesAnswers;
    },
    set losesAnswers(loses) {
      losesAnswers = loses;
      if (!loses) for (const end of [...torn]) end();
    },
    get keepsServerSide() {
      return keepsServerSide;
    },
    set keepsServerSide(keeps) {
      keepsServerSide = keeps;
    },
    cut() {
      for (const way of ways) way.end();
    },
    stop: () =>
      new Promise((resolve) => {
        for (const way of ways) way.end();
        server.close(() => resolve());
      }),
  };
}
