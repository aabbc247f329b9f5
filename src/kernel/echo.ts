import { Buffer } from "node:buffer";
import { connect, createServer, type Socket } from "node:net";

const byte = Buffer.from([0]);

/**
 * A connection of the process to itself. A byte sent on it comes back when its turn has come among all connections, which
 * is as long as a request waits; a timer does not tell, because it goes before connections that wait.
 */
export class Echo {
  readonly #onBack: () => void;
  #near: Socket | undefined;
  #far: Socket | undefined;
  #isClosed = false;

  constructor(onBack: () => void) {
    this.#onBack = onBack;
    const server = createServer((socket) => {
      // One is all there is: from now on nobody can connect.
      server.close();
      this.#far = socket.on("data", () => this.#onBack()).on("error", () => undefined);
      socket.unref();
      if (this.#isClosed) socket.destroy();
    });
    server.on("error", () => undefined);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (this.#isClosed || address === null || typeof address === "string") return void server.close();
      this.#near = connect(address.port, "127.0.0.1").on("error", () => undefined);
      this.#near.setNoDelay(true);
      this.#near.unref();
    });
    server.unref();
  }

  /** Sends a byte; `false` while there is no connection. */
  send(): boolean {
    if (this.#far === undefined || this.#near === undefined || this.#near.destroyed) return false;
    this.#near.write(byte);
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#near?.destroy();
    this.#far?.destroy();
  }
}
